#include "algorithms/distill/distill.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/format.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

constexpr const char* kRemedy = "distill.learning_rate";

// Returns the parts of a learner whose rollout is one segment.
LearnerParts of_segment(LearnerParts parts, const DistillOptions& options) {
  parts.plan.num_steps = options.gradient_length, parts.plan.num_mini_batches = 1, parts.plan.sequences = true;
  return parts;
}

const Teacher& teacher_of(const LearnerParts& parts) {
  DRL_CHECK(parts.teacher, "distillation needs a teacher");
  return *parts.teacher;
}

}  // namespace

BatchPlan Distill::plan(const DistillOptions& options, BatchPlan requested, const TaskSpec& task) {
  if (task.action.discrete)
    throw UsageError("distillation cannot learn " + task.name +
                     " (it compares continuous actions, and those of this task are discrete): use --algorithm ppo");
  const int64_t length = options.gradient_length, below = requested.num_steps / length * length;
  if (requested.num_steps % length != 0)
    throw UsageError("--num_steps_per_env " + std::to_string(requested.num_steps) + " is not a multiple of " +
                     std::to_string(length) +
                     " (distill.gradient_length; a rollout consists of whole segments): use --num_steps_per_env " +
                     (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + length));
  requested.num_mini_batches = static_cast<int>(requested.num_steps / length);
  BatchPlan of_samples = requested;  // mini-batches have all environments, also with recurrent layers
  of_samples.sequences = false;
  of_samples.check(kName, "--num_steps_per_env");
  return requested;
}

void Distill::check(const DistillOptions&, const PolicyOptions& policy) {
  if (policy.distribution != "gaussian")
    throw UsageError("--policy.distribution " + policy.distribution +
                     " cannot be used with --algorithm distill (a student's outputs are compared with a teacher's "
                     "actions, which are means of a Gaussian): use --policy.distribution gaussian");
  if (policy.state_dependent_std)
    throw UsageError(
        "--policy.state_dependent_std cannot be used with --algorithm distill (a student explores with the constant "
        "--policy.init_std): leave the option out");
}

std::string Distill::describe_update(const DistillOptions& options) {
  return fmt::format("{} epochs, a gradient step for every {} steps", options.num_learning_epochs,
                     options.gradient_length);
}

Distill::Distill(const LearnerParts& parts, const DistillOptions& options)
    : queue_(parts.queue),
      options_(options),
      slots_(queue_),
      policy_(parts, slots_),
      sampler_(parts, policy_, slots_),
      rounds_(queue_, options, parts.plan, parts.seed),
      optimizer_(parts, options, policy_, rounds_, DistillColumn::count, kRemedy),
      teacher_(queue_, teacher_of(parts).nets, teacher_of(parts).spec, teacher_of(parts).params,
               teacher_of(parts).normalizer),
      teacher_sees_critic_obs_(parts.teacher->sees_critic_obs),
      labels_(queue_, static_cast<size_t>(rollout().samples() * rollout().out_size)),
      segment_labels_(queue_, labels_.size() / static_cast<size_t>(segments())),
      states_(queue_, static_cast<size_t>(rollout().num_envs * policy_.spec().actor_rnn.state_size())),
      rows_(queue_, static_cast<size_t>(rollout().num_envs * options.gradient_length)),
      segment_(rollout()),
      gradient_(of_segment(parts, options), policy_, segment_, LossId::distill, DistillColumn::count,
                [&](const auto&) {
                  return DistillLoss{segment_labels_.data(), static_cast<int>(rollout().out_size),
                                     options.loss_type == "huber", static_cast<float>(options.gradient_length)};
                }),
      loop_(parts, slots_, policy_, sampler_, rounds_, optimizer_) {
  std::vector<int32_t> rows(rows_.size());
  std::iota(rows.begin(), rows.end(), 0);
  queue_.copy(rows_.data(), rows.data(), rows.size());
  teacher_.begin_episodes(rollout().num_envs);
  segment_.actor_state = states_.data();
  sampler_.enqueue_reset({});
  queue_.synchronize();
}

void Distill::iterate(int64_t iteration, Communicator& comm, std::span<double> loop_sums) {
  slots_.begin(loop_sums, comm, [this](StateVisitor& visitor) { visit_state(visitor); });
  rounds_.begin(scheduled_inputs(options_, iteration));
  updates_ = 0;
  loop_.run(comm, {[this] { collect(); }, [&] { reduce(comm); }, [&] { update(comm); }, [this] { end(); },
                   /*update_varies=*/true});
  loop_.read(loop_sums, kRemedy, stats_);
}

void Distill::collect() {
  rounds_.enqueue_begin();
  slots_.enqueue_begin();
  sampler_.enqueue(rounds_.lifetime_step(), slots_);
}

void Distill::reduce(Communicator& comm) {
  compute_labels();
  policy_.enqueue_moments(rollout(), slots_);
  slots_.enqueue_all_reduce(comm);
  for_each(queue_, 1, rounds_.reset());
}

// Computes the teacher's most probable actions. A recurrent teacher takes the steps one after the other.
void Distill::compute_labels() {
  const RolloutView& r = rollout();
  const float* obs = teacher_sees_critic_obs_ ? r.critic_obs : r.obs;
  const int64_t inputs = teacher_sees_critic_obs_ ? r.critic_obs_dim : r.obs_dim;
  if (teacher_.state_size() == 0) return teacher_.forward(obs, r.samples(), labels_.data());
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const int64_t row = t * r.num_envs;
    for (int64_t env = 0; env < r.num_envs; env += teacher_.tile())
      teacher_.forward(obs + (row + env) * inputs, std::min(teacher_.tile(), r.num_envs - env),
                       labels_.data() + (row + env) * r.out_size, env);
    teacher_.end_step(r.terminated + row, r.truncated + row, 0, r.num_envs);
  }
}

// Takes the Adam step of the next segment.
void Distill::update(Communicator& comm) {
  const RolloutView& r = rollout();
  const int64_t step = updates_++ % segments() * options_.gradient_length, row = step * r.num_envs;
  if (step == 0) queue_.copy(states_.data(), r.actor_state, states_.size());
  segment_.obs = r.obs + row * r.obs_dim;
  segment_.terminated = r.terminated + row, segment_.truncated = r.truncated + row;
  queue_.copy(segment_labels_.data(), labels_.data() + row * r.out_size, segment_labels_.size());
  gradient_.enqueue(rows_.data(), static_cast<int64_t>(rows_.size()), optimizer_.gradient());
  gradient_.copy_end_states(states_.data());
  optimizer_.enqueue_step(comm);
}

// Copies the last row of observations to the first row of the next rollout, and the results to the host.
void Distill::end() {
  sampler_.rollout().roll_over();
  loop_.enqueue_end();
}

std::vector<Metric> Distill::metrics() const {
  return {{"behavior_loss", "Behavior loss", "Loss/behavior", rounds_.mean(DistillColumn::behavior), true},
          {"gradient_norm", "Gradient norm", "Loss/gradient_norm", rounds_.gradient_norm()},
          {"learning_rate", "Learning rate", "Loss/learning_rate", optimizer_.learning_rate(), false, "lr {:>9}"},
          {"action_std", "Action std", "Policy/mean_std", policy_.action_std(), true}};
}

void Distill::visit_state(StateVisitor& visitor) {
  policy_.visit_parameters(visitor);
  optimizer_.visit_state(visitor);
  policy_.visit_normalizers(visitor);
  rounds_.visit_state(visitor);
  sampler_.visit_shared_state(visitor);
  sampler_.visit_row(visitor);
  if (teacher_.state_size() > 0)
    visitor.array("teacher/state", teacher_.states().data(), {rollout().num_envs, teacher_.state_size()},
                  Sharding::per_env, &queue_);
  sampler_.visit_envs(visitor);
}

}  // namespace drl
