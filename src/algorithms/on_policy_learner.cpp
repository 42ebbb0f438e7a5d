#include "algorithms/on_policy_learner.hpp"

#include "device/for_each.hpp"

namespace drl {
namespace {

OptimizerRule optimizer_rule(const UpdateOptions& options) {
  return {.type = options.optimizer == "sgd"     ? OptimizerType::sgd
                  : options.optimizer == "adamw" ? OptimizerType::adamw
                                                 : OptimizerType::adam,
          .adaptive = options.schedule == "adaptive",
          .joint_clip = options.grad_clip == "joint",
          .adam_eps = options.adam_eps,
          .weight_decay = options.weight_decay,
          .momentum = options.momentum,
          .groups = {}};
}

// The actor with its standard deviation is one group of parameters, and the critic is another one. An adaptive schedule
// does not change a learning rate of the critic's own, and a linear one changes both by the same factor.
std::vector<ParamGroup> groups_of(const PolicySpec& spec, const UpdateOptions& options) {
  const double rate = options.learning_rate, norm = options.max_grad_norm;
  std::vector<ParamGroup> groups = {{"actor", spec.first_critic_parameter(), {rate, norm}}};
  if (spec.critic < 0) return groups;
  const GroupSchedule schedule = !options.critic_learning_rate    ? GroupSchedule::same
                                 : options.schedule == "adaptive" ? GroupSchedule::constant
                                                                  : GroupSchedule::proportional;
  groups.push_back(
      {"critic",
       spec.layout.size(),
       {options.critic_learning_rate.value_or(rate), options.critic_max_grad_norm.value_or(norm), schedule}});
  return groups;
}

ParamBounds std_bounds(const PolicySpec& spec, const PolicyOptions& options) {
  const int64_t begin = spec.std_offset();
  return {begin, begin + free_parameters(spec.distribution), std_parameter(options.std_min, spec.log_std),
          std_parameter(options.std_max, spec.log_std)};
}

}  // namespace

OnPolicyLearner::OnPolicyLearner(const LearnerParts& parts, const UpdateOptions& options, const Traits& traits)
    : queue_(parts.queue),
      slots_(queue_),
      policy_(parts, slots_),
      sampler_(parts, policy_, slots_),
      rounds_(queue_, options, parts.plan, parts.seed),
      gradients_(queue_),
      optimizer_(queue_, gradients_, policy_.spec().layout, policy_.parameters(),
                 {.rule = optimizer_rule(options),
                  .groups = groups_of(policy_.spec(), options),
                  .loss_columns = traits.loss_columns,
                  .remedy = traits.remedy,
                  .bounds = std_bounds(policy_.spec(), parts.policy)}),
      traits_(traits),
      recorder_(queue_, parts.records_graphs()),
      clock_(queue_) {
  if (traits_.episodes_continue) sampler_.enqueue_reset({});
  queue_.synchronize();
}

void OnPolicyLearner::iterate(int64_t iteration, Communicator& comm) {
  slots_.begin(comm, [this](StateVisitor& visitor) { visit_state(visitor); });
  rounds_.begin(iteration);
  begin(iteration);
  run(comm);
  slots_.end(traits_.remedy);
  optimizer_.end();
  policy_.end(slots_);
  sampler_.end(rounds_.iteration(), rounds_.first_step(), slots_, stats_);
  stats_.collection_time = clock_.collection_time(), stats_.learning_time = clock_.learning_time();
  read();
}

// Runs the queue's work and waits for it.
void OnPolicyLearner::run(Communicator& comm) {
  const auto reduce = [&] {
    compute_targets();
    policy_.enqueue_moments(rollout(), slots_);
    slots_.enqueue_all_reduce(comm);
    begin_update();
  };
  const auto update = [&] {
    compute_gradient();
    gradients_.enqueue_all_reduce(comm);
    take_step();
  };
  clock_.begin();
  sampler_.report_to(comm);
  recorder_.run(
      "collect", comm, [this] { collect(); }, !sampler_.on_host());
  clock_.collected();
  recorder_.run("reduce", comm, reduce);
  for (int k = 0; k < rounds_.count(); ++k) recorder_.run("mini-batch", comm, update, !traits_.mini_batches_differ);
  recorder_.run("end", comm, [this] { end(); });
  clock_.end();
  comm.wait([&] { return queue_.done(); });
  recorder_.iteration_ended();
}

void OnPolicyLearner::collect() {
  rounds_.enqueue_begin();
  slots_.enqueue_begin();
  sampler_.enqueue(rounds_.lifetime_step(), slots_);
}

void OnPolicyLearner::begin_update() { for_each(queue_, 1, rounds_.reset(optimizer_.numbers())); }

const int32_t* OnPolicyLearner::next_rows() {
  rounds_.enqueue_rows(optimizer_.numbers());
  return rounds_.rows();
}

void OnPolicyLearner::take_step() {
  optimizer_.enqueue_step();
  policy_.actor().repack();
}

// If episodes continue, the last row of observations becomes the first row of the next rollout.
void OnPolicyLearner::end() {
  if (traits_.episodes_continue) sampler_.rollout().roll_over();
  rounds_.enqueue_end();
  optimizer_.enqueue_end();
  slots_.enqueue_end();
  policy_.enqueue_end();
}

void OnPolicyLearner::visit_state(StateVisitor& visitor) {
  policy_.visit_parameters(visitor);
  optimizer_.visit_state(visitor, "optimizer");
  optimizer_.visit_learning_rate(visitor, "optimizer");
  policy_.visit_normalizers(visitor);
  rounds_.visit_state(visitor);
  sampler_.visit_shared_state(visitor);
  if (traits_.episodes_continue) sampler_.visit_row(visitor);
  visit_own_state(visitor);
  if (traits_.episodes_continue) sampler_.visit_envs(visitor);
}

}  // namespace drl
