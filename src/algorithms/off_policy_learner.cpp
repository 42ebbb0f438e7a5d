#include "algorithms/off_policy_learner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "algorithms/make_algorithm.hpp"
#include "algorithms/symmetry.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "device/for_each.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

// The random numbers of the critics' weights follow those of the policy's slices.
constexpr uint64_t kFirstSlice = 1 << 20;

void require_continuous_actions(const AlgorithmTraits& traits, const TaskSpec& task) {
  if (task.action.discrete)
    throw UsageError(fmt::format(
        "{} cannot learn {} (it learns continuous actions, and those of this task are discrete): use --algorithm {}",
        traits.title, task.name, algorithm_names().front()));
}

// Returns the transitions that each environment has room for.
int64_t capacity(const OffPolicyOptions& options, const BatchPlan& plan) {
  return options.replay_size / (plan.num_envs * plan.world_size);
}

std::unique_ptr<Nets> make_critics(const LearnerParts& parts, const OffPolicyOptions& options) {
  DRL_CHECK(parts.engine, "off-policy learners need networks of their own");
  ParamLayout layout;
  for (int c = 0; c < kCritics; ++c) {
    NetSpec net = options.critic_net(parts.envs.spec(), parts.policy);
    net.name += fmt::format("/{}", c);
    layout.add_net(std::move(net));
  }
  return parts.engine->make_nets(layout, parts.plan.most_rows());
}

RewardNormalizer::Settings rewards_of(const OffPolicyOptions& options) {
  return {.is_on = options.reward_normalization,
          .rule = {.eps = 1e-8, .eps_inside_sqrt = true},
          .gamma = options.gamma,
          .has_largest = true};
}

std::string remedy_of(const AlgorithmTraits& traits) {
  return fmt::format("{0}.critic_learning_rate or {0}.reward_scale", traits.name);
}

}  // namespace

NetSpec OffPolicyOptions::critic_net(const TaskSpec& task, const PolicyOptions& policy) const {
  const int inputs = (task.critic_obs_dim > 0 ? task.critic_obs_dim : task.obs_dim) + task.action.size;
  const std::vector<int>& hidden = policy.critic_hidden_dims;
  if (residual_critics) return residual_net("critic", inputs, hidden.front(), static_cast<int>(hidden.size()), atoms);
  return {"critic", widths_of(inputs, hidden, atoms), activation_of(policy.activation), policy.layer_norm};
}

std::string OffPolicyOptions::describe_update(const BatchPlan& plan) const {
  return fmt::format("{} of {} samples after each step; replay of {} transitions, {} per rank",
                     counted(updates_per_step, "update"), with_commas(plan.replay_rows * plan.world_size),
                     with_commas(replay_size), human_bytes(static_cast<double>(plan.replay_bytes)));
}

BatchPlan OffPolicyLearner::plan_of(const AlgorithmTraits& traits, const OffPolicyOptions& options, BatchPlan requested,
                                    const TaskSpec& task) {
  require_continuous_actions(traits, task);
  if (options.symmetry != "none")
    require_symmetry(task, /*is_recurrent=*/false, fmt::format("{}.symmetry {}", traits.name, options.symmetry));
  requested.check(traits.name, "--num_steps_per_env");
  const int64_t envs = requested.num_envs * requested.world_size, batch = options.batch_size;
  if (batch % requested.shards != 0)
    throw UsageError(
        fmt::format("--{}.batch_size {} cannot be divided evenly among {} shards (each gives the same number of "
                    "samples; --shards, "
                    "one per rank by default): use {}",
                    traits.name, batch, requested.shards, (batch / requested.shards + 1) * requested.shards));
  const int64_t room = capacity(options, requested) * envs;  // each environment has room for the same number
  if (const int64_t least = std::max(batch, options.learning_starts); room < least)
    throw UsageError(fmt::format(
        "--{0}.replay_size {1} is smaller than --{0}.{2} {3}, or not a multiple of the {4} environments (the replay "
        "buffer would never have enough transitions): use at least {5}, or lower the other option",
        traits.name, options.replay_size, least == batch ? "batch_size" : "learning_starts", least, envs,
        (least + envs - 1) / envs * envs));
  if (const int64_t least = envs * options.n_step; options.replay_size < least)
    throw UsageError(
        fmt::format("--{0}.replay_size {1} is too small for {2} environments with {0}.n_step {3}: use at "
                    "least {4}",
                    traits.name, options.replay_size, envs, options.n_step, least));
  if (options.replay_size / requested.world_size > std::numeric_limits<int32_t>::max())
    throw UsageError(
        fmt::format("--{}.replay_size {} is more than 2^31 - 1 transitions per rank: use more ranks, or a "
                    "smaller replay buffer",
                    traits.name, options.replay_size));
  requested.replay_rows = batch / requested.world_size;
  requested.replay_bytes = Replay::bytes(task, requested.num_envs, capacity(options, requested));
  return requested;
}

void OffPolicyLearner::check_networks(const AlgorithmTraits& traits, const OffPolicyOptions& options,
                                      const PolicyOptions& policy) {
  if (policy.is_recurrent())
    throw UsageError(fmt::format(
        "--policy.rnn_type {} cannot be used with --algorithm {} (its replay buffer holds single transitions, not "
        "sequences): use --policy.rnn_type none, or --algorithm {}",
        policy.rnn_type, traits.name, algorithm_names().front()));
  const std::vector<int>& widths = policy.critic_hidden_dims;
  if (options.residual_critics && (widths.empty() || std::ranges::count(widths, widths.front()) < std::ssize(widths))) {
    std::vector<std::string> texts;
    for (const int width : widths) texts.push_back(std::to_string(width));
    throw UsageError(fmt::format(
        "--{}.residual_critics cannot be used with --policy.critic_hidden_dims {} (residual blocks need one "
        "common width): use, for example, --policy.critic_hidden_dims 256,256 for two blocks",
        traits.name, texts.empty() ? "none" : join(texts, ",")));
  }
}

OptimizerSettings OffPolicyLearner::adam(const char* name, const ParamLayout& layout, double rate, int columns,
                                         double weight_decay) const {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  return {.rule = {.type = weight_decay > 0 ? OptimizerType::adamw : OptimizerType::adam,
                   .adam_eps = options_.adam_eps,
                   .weight_decay = weight_decay,
                   .groups = {}},
          .groups = {{name, layout.size(), {rate, unlimited}}},
          .loss_columns = columns,
          .remedy = remedy_of(traits_.algorithm)};
}

OffPolicyLearner::OffPolicyLearner(const LearnerParts& parts, const OffPolicyOptions& options, const Traits& traits)
    : queue_(parts.queue),
      options_(options),
      traits_(traits),
      plan_(parts.plan),
      seed_(parts.seed),
      slots_(queue_),
      policy_(parts, slots_),
      sampler_(parts, policy_, slots_, traits.action_noise),
      replay_(queue_, parts.envs.spec(), plan_.num_envs, capacity(options, plan_)),
      batch_(queue_, parts.envs.spec(), plan_.replay_rows, options.symmetry == "augment"),
      rewards_(queue_, slots_, plan_, rewards_of(options)),
      nets_(parts.nets),
      critic_nets_(make_critics(parts, options)),
      critics_(queue_, static_cast<size_t>(critic_layout().size())),
      targets_(queue_, critics_.size()),
      critic_gradients_(queue_),
      actor_gradients_(queue_),
      critic_optimizer_(
          queue_, critic_gradients_, critic_layout(), critics_.data(),
          adam("critics", critic_layout(), options.critic_learning_rate, CriticColumn::count, options.weight_decay)),
      actor_optimizer_(
          queue_, actor_gradients_, policy_.spec().layout, policy_.parameters(),
          adam("actor", policy_.spec().layout, options.learning_rate, ActorColumn::count, options.weight_decay)),
      tile_rows_(std::min({nets_.tile(), critic_nets_->tile(), plan_.replay_rows})),
      target_(queue_, static_cast<size_t>(tile_rows_ * options.atoms)),
      out_(queue_, static_cast<size_t>(tile_rows_ * policy_.spec().actor_net().outputs())),
      d_out_(queue_, out_.size()),
      input_(queue_, static_cast<size_t>(tile_rows_ * critic_layout().net(0).inputs())),
      log_prob_(queue_, static_cast<size_t>(tile_rows_)),
      scratch_(queue_, sum_scratch(queue_, std::max<int>(CriticColumn::count, ActorColumn::count))),
      critic_weights_(critic_nets_->pack(critics_.data())),
      target_weights_(critic_nets_->pack(targets_.data())),
      actor_tape_(nets_.make_tape(policy_.spec().actor)),
      lifetime_step_(queue_, 1),
      host_lifetime_step_(queue_, 1, Memory::host) {
  for (int c = 0; c < kCritics; ++c) {
    critic_tapes_[c] = critic_nets_->make_tape(c);
    d_input_[c] = Array<float>(queue_, input_.size());
    q_[c] = Array<float>(queue_, log_prob_.size()), d_q_[c] = Array<float>(queue_, log_prob_.size());
    if (has_atoms()) of_atoms_[c] = Array<float>(queue_, target_.size());
  }
  for (int64_t t = 0; t < plan_.num_steps; ++t) clocks_.emplace_back(queue_);
  Array<float> host(queue_, critics_.size(), Memory::host);
  for (NetId c = 0; c < kCritics; ++c) initialize_uniform(critic_layout(), c, seed_, kFirstSlice, host);
  queue_.copy(critics_.data(), host.data(), host.size());
  queue_.copy(targets_.data(), host.data(), host.size());
  repack_critics();
  sampler_.enqueue_reset({});
  queue_.synchronize();
}

std::vector<Optimizer*> OffPolicyLearner::optimizers() {
  std::vector<Optimizer*> all = {&critic_optimizer_, &actor_optimizer_};
  std::ranges::copy(more_optimizers(), std::back_inserter(all));
  return all;
}

void OffPolicyLearner::iterate(int64_t iteration, Communicator& comm) {
  slots_.begin(comm, [this](StateVisitor& visitor) { visit_state(visitor); });
  queue_.copy(lifetime_step_.data(), host_lifetime_step_.data(), 1);
  slots_.enqueue_begin();
  for (Optimizer* optimizer : optimizers()) optimizer->enqueue_begin();
  sampler_.report_to(comm);
  sampler_.enqueue_begin();
  for (int64_t t = 0; t < plan_.num_steps; ++t) {
    PhaseClock& clock = clocks_[static_cast<size_t>(t)];
    clock.begin();
    const bool has_learned = updates_ > 0 || transitions() >= options_.learning_starts;
    sampler_.enqueue_step(lifetime_step_.data(), t, has_learned ? traits_.choice : ActionChoice::uniform);
    replay_.enqueue_add(rollout(), t);
    clock.collected();
    for (int k = 0; k < options_.updates_per_step && transitions() >= options_.learning_starts; ++k)
      enqueue_update(comm);
    if (sampler_.on_host()) comm.wait([&] { return queue_.done(); });  // the next step waits for these all-reduces
    clock.end();
  }
  sampler_.enqueue_end(slots_);
  policy_.enqueue_moments(rollout(), slots_);
  rewards_.enqueue(rollout(), slots_);
  slots_.enqueue_all_reduce(comm);
  sampler_.rollout().roll_over();
  for (Optimizer* optimizer : optimizers()) optimizer->enqueue_end();
  slots_.enqueue_end();
  policy_.enqueue_end();
  enqueue_end();
  comm.wait([&] { return queue_.done(); });

  slots_.end(remedy_of(traits_.algorithm));
  for (const Optimizer* optimizer : optimizers()) optimizer->end();
  policy_.end(slots_);
  rewards_.end(slots_);
  sampler_.end(iteration, host_lifetime_step_[0], slots_, stats_);
  host_lifetime_step_[0] += plan_.num_steps;
  replay_.write_counts();
  stats_.collection_time = stats_.learning_time = 0;
  for (const PhaseClock& clock : clocks_)
    stats_.collection_time += clock.collection_time(), stats_.learning_time += clock.learning_time();
}

int64_t OffPolicyLearner::transitions() const { return replay_.filled() * plan_.num_envs * plan_.world_size; }

void OffPolicyLearner::enqueue_update(Communicator& comm) {
  choose_samples();
  step_critics(comm);
  ++updates_;
  const bool has_actor = updates_ % options_.policy_delay == 0;
  for (int k = 0; has_actor && k < (traits_.repeats_actor ? options_.policy_delay : 1); ++k) {
    step_actor(comm);
    ++actor_updates_;
  }
  if (has_actor || !traits_.delays_targets) move_targets();
}

template <class Work>
void OffPolicyLearner::for_each_tile(const Work& work) {
  for (int64_t first = 0; first < plan_.replay_rows; first += tile_rows_)
    work(Tile{first, std::min(tile_rows_, plan_.replay_rows - first)});
}

ActionNoise OffPolicyLearner::noise(Purpose purpose, int64_t step, const Tile& tile) const {
  return {seed_, plan_.rank * plan_.replay_rows + tile.first, static_cast<uint64_t>(step), purpose};
}

void OffPolicyLearner::choose_samples() {
  batch_.enqueue(replay_, {.seed = seed_,
                           .update = updates_,
                           .first_sample = plan_.rank * plan_.replay_rows,
                           .samples_per_shard = plan_.replay_rows / plan_.local_shards(),
                           .envs_per_shard = plan_.envs_per_shard(),
                           .range = replay_.range(),
                           .n_step = options_.n_step,
                           .gamma = static_cast<float>(options_.gamma),
                           .reward_scale = static_cast<float>(reward_scale())});
}

double OffPolicyLearner::reward_scale() const {
  const double largest = rewards_.largest();
  return options_.reward_scale *
         (largest > 0 ? std::min(rewards_.inverse_std(), options_.reward_limit / largest) : 1.0);
}

void OffPolicyLearner::join_inputs(const float* obs, const float* action, const Tile& tile) {
  for_each(
      queue_, tile.count,
      JoinInputs{obs, action, critic_obs(), replay_.view().action_size, policy_.normalizers().critic(), input_.data()});
}

void OffPolicyLearner::forward_critics(const Weights& weights, const Tile& tile, bool with_tapes) {
  for (NetId c = 0; c < kCritics; ++c) {
    critic_nets_->forward(c, weights, {input_.data(), nullptr, tile.count}, critic_out(c),
                          with_tapes ? critic_tapes_[c].get() : nullptr);
    if (has_atoms()) for_each(queue_, tile.count, AtomProbabilities{atoms(), critic_out(c), q_[c].data()});
  }
}

void OffPolicyLearner::step_critics(Communicator& comm) {
  float* gradient = critic_optimizer_.gradient();
  queue_.clear(gradient, critics_.size());
  clear_sums(queue_, CriticColumn::count, scratch_.data());
  for_each_tile([&](const Tile& tile) {
    compute_targets(tile);
    critic_gradient(tile);
  });
  finish_sums(queue_, CriticColumn::count, scratch_.data(),
              StoreLoss{CriticColumn::count, gradient + critic_layout().size(), nullptr});
  critic_gradients_.enqueue_all_reduce(comm);
  critic_optimizer_.enqueue_step();
  critic_nets_->repack(*critic_weights_);
}

void OffPolicyLearner::move_targets() {
  for_each(queue_, critic_layout().size(),
           MoveTargets{critics_.data(), static_cast<float>(options_.tau), targets_.data()});
  critic_nets_->repack(*target_weights_);
}

void OffPolicyLearner::compute_targets(const Tile& tile) {
  nets_.forward(policy_.spec().actor, weights_of_next_actions(),
                {batch_.next_obs(tile.first), nullptr, tile.count, policy_.normalizers().obs}, out_.data());
  join_inputs(batch_.next_critic_obs(tile.first), nullptr, tile);
  act_next(tile);
  forward_critics(*target_weights_, tile, /*with_tapes=*/false);
  const float *returns = batch_.returns(tile.first), *discount = batch_.discount(tile.first);
  if (has_atoms())
    for_each(queue_, tile.count,
             ProjectTargets{atoms(),
                            values(of_options()),
                            {critic_out(0), critic_out(1)},
                            returns,
                            discount,
                            log_prob_.data(),
                            log_temperature(),
                            target_.data()});
  else
    for_each(
        queue_, tile.count,
        CriticTargets{values(of_options()), returns, discount, log_prob_.data(), log_temperature(), target_.data()});
}

void OffPolicyLearner::critic_gradient(const Tile& tile) {
  join_inputs(batch_.critic_obs(tile.first), batch_.action(tile.first), tile);
  forward_critics(*critic_weights_, tile, /*with_tapes=*/true);
  const CriticValues now = values(of_options());
  if (has_atoms())
    add_rows(queue_, tile.count, CriticColumn::count, scratch_.data(),
             DistributionLoss{atoms(), now, target_.data(), {critic_out(0), critic_out(1)}});
  else
    add_rows(queue_, tile.count, CriticColumn::count, scratch_.data(),
             CriticLoss{now, target_.data(), {d_q_[0].data(), d_q_[1].data()}});
  for (NetId c = 0; c < kCritics; ++c)
    critic_nets_->backward(c, *critic_weights_, *critic_tapes_[c], critic_d_out(c), critic_optimizer_.gradient());
}

void OffPolicyLearner::step_actor(Communicator& comm) {
  float* gradient = actor_optimizer_.gradient();
  queue_.clear(gradient, static_cast<size_t>(policy_.spec().layout.size()));
  clear_sums(queue_, ActorColumn::count, scratch_.data());
  for_each_tile([&](const Tile& tile) { actor_gradient(tile); });
  finish_sums(queue_, ActorColumn::count, scratch_.data(),
              StoreLoss{ActorColumn::count, gradient + policy_.spec().layout.size(), nullptr});
  before_all_reduce_of_actor();
  actor_gradients_.enqueue_all_reduce(comm);
  actor_optimizer_.enqueue_step();
  policy_.actor().repack();
  after_actor_step();
}

void OffPolicyLearner::actor_gradient(const Tile& tile) {
  const NetId actor = policy_.spec().actor;
  nets_.forward(actor, policy_.weights(), {batch_.obs(tile.first), nullptr, tile.count, policy_.normalizers().obs},
                out_.data(), actor_tape_.get());
  join_inputs(batch_.critic_obs(tile.first), nullptr, tile);
  act(tile);
  const CriticValues values = this->values(critics_of_actor());
  forward_critics(*critic_weights_, tile, /*with_tapes=*/true);
  for_each(queue_, tile.count, ValueDerivatives{values, {d_q_[0].data(), d_q_[1].data()}});
  for (NetId c = 0; c < values.used(); ++c) {
    if (has_atoms())
      for_each(queue_, tile.count, ExpectedValueGradient{atoms(), q_[c].data(), d_q_[c].data(), critic_out(c)});
    critic_nets_->backward(c, *critic_weights_, *critic_tapes_[c], critic_d_out(c), nullptr, d_input_[c].data());
  }
  add_actor_loss(tile);
  nets_.backward(actor, policy_.weights(), *actor_tape_, d_out_.data(), actor_optimizer_.gradient());
}

std::vector<Metric> OffPolicyLearner::metrics() const {
  return {
      {"critic_loss", "Critic loss", "Loss/critic", critic_optimizer_.mean(CriticColumn::loss), true},
      {"value", "Value", "Loss/value", critic_optimizer_.mean(CriticColumn::value), true, "value {:>7}"},
      {"actor_loss", "Actor loss", "Loss/actor", actor_optimizer_.mean(ActorColumn::loss), true},
      {"updates", "Updates", "Train/updates", static_cast<double>(updates_), true, "", Format::count, Section::speed},
      {"replay", "Transitions in replay", "Train/replay", static_cast<double>(transitions()), true, "", Format::count,
       Section::speed}};
}

void OffPolicyLearner::visit_state(StateVisitor& visitor) {
  policy_.visit_parameters(visitor);
  for (const ParamSlice& slice : critic_layout().slices()) {
    const auto visit = [&](const std::string& prefix, float* params) {
      visitor.array(path(prefix + slice.name), params + slice.offset, slice.shape, Sharding::replicated, &queue_);
    };
    visit("", critics_.data()), visit("target_", targets_.data());
  }
  critic_optimizer_.visit_state(visitor, path("critic_optimizer"));
  actor_optimizer_.visit_state(visitor, path("actor_optimizer"));
  visit_own_state(visitor);
  policy_.visit_normalizers(visitor);
  rewards_.visit_state(visitor);
  visitor.scalar(path("updates"), updates_);
  visitor.scalar(path("actor_updates"), actor_updates_);
  visitor.scalar("rollout/lifetime_step", host_lifetime_step_[0]);
  sampler_.visit_shared_state(visitor);
  sampler_.visit_row(visitor);
  replay_.visit_state(visitor);
  sampler_.visit_envs(visitor);
}

void OffPolicyLearner::repack_critics() {
  critic_nets_->repack(*critic_weights_);
  critic_nets_->repack(*target_weights_);
}

void OffPolicyLearner::state_changed() {
  policy_.state_changed();
  replay_.state_changed(rollout().obs);
  rewards_.state_changed();
  repack_critics();
  queue_.synchronize();
}

void OffPolicyLearner::restart_learning_rate() {
  for (Optimizer* optimizer : optimizers()) optimizer->restart_learning_rate();
}

}  // namespace drl
