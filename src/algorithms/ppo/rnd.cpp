#include "algorithms/ppo/rnd.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

// The random numbers of the networks' weights follow those of the policy's slices.
constexpr uint64_t kFirstSlice = 1 << 20;

// The rule by which rsl_rl normalises observations, and one for rewards, whose variance may be small.
constexpr NormalizerRule kStateRule{.eps = 1e-2}, kRewardRule{.eps = 1e-8, .eps_inside_sqrt = true};

int inputs_of(const TaskSpec& task, const RndOptions& options) {
  return options.state == "critic" && task.critic_obs_dim > 0 ? task.critic_obs_dim : task.obs_dim;
}

NetSpec net(const TaskSpec& task, const RndOptions& options, const char* name, const std::vector<int>& hidden) {
  return {name, widths_of(inputs_of(task, options), hidden, options.num_outputs), activation_of(options.activation)};
}

ParamLayout layout_of(const TaskSpec& task, const RndOptions& options, bool with_target) {
  ParamLayout layout;
  layout.add_net(net(task, options, "rnd/predictor", options.predictor_hidden_dims));
  if (with_target) layout.add_net(net(task, options, "rnd/target", options.target_hidden_dims));
  return layout;
}

// rsl_rl multiplies the weight by the seconds per step too.
RndWeight weight_of(const RndOptions& options, double dt) {
  return {options.weight_schedule == "step"     ? RndWeight::step
          : options.weight_schedule == "linear" ? RndWeight::linear
                                                : RndWeight::constant,
          options.weight * dt, options.final_value * dt, options.initial_step, options.final_step};
}

// Adam without clipping, and with a constant learning rate.
OptimizerSettings adam(const ParamLayout& predictor, const RndOptions& options) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  return {.rule = {},
          .groups = {{"RND predictor", predictor.size(), {options.learning_rate, unlimited}}},
          .loss_columns = RndLoss::columns,
          .remedy = "ppo.rnd.learning_rate"};
}

std::unique_ptr<Nets> make_nets(const LearnerParts& parts, const RndOptions& options) {
  DRL_CHECK(parts.engine, "random network distillation needs networks of its own");
  return parts.engine->make_nets(layout_of(parts.envs.spec(), options, true), parts.plan.observations());
}

}  // namespace

RandomNetworkDistillation::RandomNetworkDistillation(const LearnerParts& parts, const RndOptions& options,
                                                     const RolloutView& rollout, Slots& slots, Gradients& gradients)
    : options_(options),
      queue_(parts.queue),
      rollout_(rollout),
      obs_(options.state == "critic" ? rollout.critic_input() : rollout.obs),
      inputs_(inputs_of(parts.envs.spec(), options)),
      weight_(weight_of(options, parts.envs.spec().dt)),
      predictor_layout_(layout_of(parts.envs.spec(), options, false)),
      nets_(make_nets(parts, options)),
      params_(queue_, static_cast<size_t>(nets_->layout().size())),
      weights_(nets_->pack(params_.data())),
      optimizer_(queue_, gradients, predictor_layout_, params_.data(), adam(predictor_layout_, options)),
      tape_(nets_->make_tape(predictor_)),
      tile_rows_(std::min(nets_->tile(), parts.plan.rows())),
      embedding_(queue_, static_cast<size_t>((rollout.samples() + rollout.num_envs) * options.num_outputs)),
      prediction_(queue_, static_cast<size_t>(rollout.samples() * options.num_outputs)),
      intrinsic_(queue_, static_cast<size_t>(rollout.samples())),
      out_(queue_, static_cast<size_t>(tile_rows_ * options.num_outputs)),
      d_out_(queue_, out_.size()),
      state_normalizer_(queue_, options.state_normalization ? static_cast<int>(inputs_) : 0, kStateRule),
      reward_normalizer_(queue_, options.reward_normalization ? 1 : 0, kRewardRule),
      running_(queue_, options.reward_normalization ? static_cast<size_t>(rollout.num_envs) : 0),
      discounted_(queue_, options.reward_normalization ? intrinsic_.size() : 0),
      state_moments_(slots.add(state_normalizer_.moments_size())),
      discounted_moments_(slots.add(reward_normalizer_.moments_size())),
      rewards_(slots.add(2)),
      scratch_(queue_, sum_scratch(queue_, std::max<int64_t>(RndLoss::columns, 2 * inputs_))) {
  Array<float> host(queue_, params_.size(), Memory::host);
  for (const NetId id : {predictor_, target_}) initialize_uniform(nets_->layout(), id, parts.seed, kFirstSlice, host);
  queue_.copy(params_.data(), host.data(), host.size());
  nets_->repack(*weights_);
  queue_.synchronize();
}

void RandomNetworkDistillation::enqueue_rewards(const int64_t* lifetime_step, Slots& slots) {
  const RolloutView& r = rollout_;
  const NormalizerView normalizer = state_normalizer_.view();
  const float* next_obs = obs_ + r.num_envs * inputs_;
  nets_->forward(target_, *weights_, {obs_, nullptr, r.samples() + r.num_envs, normalizer}, embedding_.data());
  nets_->forward(predictor_, *weights_, {next_obs, nullptr, r.samples(), normalizer}, prediction_.data());
  for_each(queue_, r.samples(),
           EmbeddingDistance{embedding_.data() + r.num_envs * options_.num_outputs, prediction_.data(),
                             options_.num_outputs, intrinsic_.data()});
  if (options_.reward_normalization) {
    for_each(
        queue_, r.num_envs,
        DiscountedIntrinsicRewards{r.num_steps, r.num_envs, intrinsic_.data(), running_.data(), discounted_.data()});
    reward_normalizer_.moments(discounted_.data(), r.samples(), slots.at(discounted_moments_), scratch_.data());
  }
  for_each(queue_, r.num_envs,
           AddIntrinsicRewards{r, intrinsic_.data(), weight_, lifetime_step, reward_normalizer_.view()});
  sum_columns(queue_, r.samples(), IntrinsicRewardSum::kColumns, scratch_.data(), IntrinsicRewardSum{intrinsic_.data()},
              StoreMoments{r.samples(), slots.at(rewards_)});
  state_normalizer_.moments(obs_, r.samples(), slots.at(state_moments_), scratch_.data());
  optimizer_.enqueue_begin();
}

void RandomNetworkDistillation::enqueue_gradient(const int32_t* rows, int64_t count) {
  float* gradient = optimizer_.gradient();
  queue_.clear(gradient, static_cast<size_t>(predictor_layout_.size()));
  clear_sums(queue_, RndLoss::columns, scratch_.data());
  for (int64_t first = 0; first < count; first += tile_rows_) {
    const int64_t num_rows = std::min(tile_rows_, count - first);
    nets_->forward(predictor_, *weights_, {obs_, rows + first, num_rows, state_normalizer_.view()}, out_.data(),
                   tape_.get());
    add_rows(queue_, num_rows, RndLoss::columns, scratch_.data(),
             RndLoss{out_.data(), embedding_.data(), options_.num_outputs, d_out_.data(), rows + first});
    nets_->backward(predictor_, *weights_, *tape_, d_out_.data(), gradient);
  }
  finish_sums(queue_, RndLoss::columns, scratch_.data(),
              StoreLoss{RndLoss::columns, gradient + predictor_layout_.size(), nullptr});
}

void RandomNetworkDistillation::enqueue_step() {
  optimizer_.enqueue_step();
  nets_->repack(*weights_);
}

void RandomNetworkDistillation::enqueue_end() { optimizer_.enqueue_end(); }

void RandomNetworkDistillation::end(int64_t end_step, const Slots& slots) {
  optimizer_.end();
  state_normalizer_.merge(slots.sums(state_moments_));
  reward_normalizer_.merge(slots.sums(discounted_moments_));
  mean_reward_ = slots.sums(rewards_)[1] / slots.sums(rewards_)[0];
  last_weight_ = weight_.at(end_step);
}

std::vector<Metric> RandomNetworkDistillation::metrics() const {
  return {{"rnd_loss", "RND loss", "Loss/rnd", optimizer_.mean(RndLoss::loss), true},
          {"intrinsic_reward", "Intrinsic reward", "Rnd/mean_intrinsic_reward", mean_reward_, true},
          {"rnd_weight", "RND weight", "Rnd/weight", last_weight_}};
}

void RandomNetworkDistillation::visit_state(StateVisitor& visitor) {
  for (const ParamSlice& slice : nets_->layout().slices())
    visitor.array(slice.name, params_.data() + slice.offset, slice.shape, Sharding::replicated, &queue_);
  optimizer_.visit_state(visitor, "rnd/optimizer");
  state_normalizer_.visit_state(visitor, "rnd/state_normalizer");
  reward_normalizer_.visit_state(visitor, "rnd/reward_normalizer");
  if (options_.reward_normalization)
    visitor.array("rnd/reward_normalizer/discounted_return", running_.data(), {rollout_.num_envs}, Sharding::per_env,
                  &queue_);
}

void RandomNetworkDistillation::state_changed() {
  state_normalizer_.refresh();
  reward_normalizer_.refresh();
  nets_->repack(*weights_);
}

}  // namespace drl
