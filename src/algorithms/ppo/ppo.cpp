#include "algorithms/ppo/ppo.hpp"

#include <limits>
#include <variant>

#include "base/check.hpp"

namespace drl {
namespace {

constexpr size_t kRolloutSums = 5;    // n, sum and sum of squares of advantages, then of returns
constexpr size_t kRewardMoments = 3;  // n, sum and sum of squares of discounted returns

// Returns the number of mini-batches of an iteration.
int num_updates(const PpoOptions& options, const BatchPlan& plan) {
  return options.num_learning_epochs * plan.num_mini_batches;
}

// Returns the offset of the moments of each mini-batch's advantages in the rollout sums. They follow the moments of the
// discounted returns.
size_t mini_batch_moments(const PpoOptions& options) {
  return kRolloutSums + (options.reward_normalization ? kRewardMoments : 0);
}
size_t rollout_sums_of(const PpoOptions& options, const BatchPlan& plan) {
  const bool per_mini_batch = options.normalize_advantage_per_mini_batch;
  return mini_batch_moments(options) + (per_mini_batch ? 2 * static_cast<size_t>(num_updates(options, plan)) : 0);
}

void check_options(const PpoOptions& options) {
  if (options.normalize_advantage_per_mini_batch && !options.normalize_advantage)
    throw UsageError(
        "ppo.normalize_advantage_per_mini_batch is on while ppo.normalize_advantage is off (the first needs the "
        "second): switch both on or both off");
}

LossSettings loss_settings(const PpoOptions& options) {
  LossSettings loss;
  loss.clip_param = static_cast<float>(options.clip_param);
  loss.value_clip =
      options.use_clipped_value_loss ? static_cast<float>(options.value_clip) : std::numeric_limits<float>::infinity();
  loss.value_loss_coef = static_cast<float>(options.value_loss_coef);
  loss.entropy_coef = static_cast<float>(options.entropy_coef);
  return loss;
}

// Returns 1 - Var(advantage) / Var(return): the advantage is the part of the return that the value does not explain.
double explained_variance(std::span<const double> m) {
  const double of_return = variance(m[0], m[3], m[4]);
  return of_return > 0 ? 1 - variance(m[0], m[1], m[2]) / of_return : 0;
}

}  // namespace

BatchPlan Ppo::plan(const PpoOptions& options, BatchPlan requested, const TaskSpec&) {
  check_options(options);
  requested.num_mini_batches = options.num_mini_batches;
  requested.check(kName, "--num_steps_per_env");
  return requested;
}

Ppo::Ppo(const LearnerParts& parts, const PpoOptions& options)
    : OnPolicy(parts, options,
               {rollout_sums_of(options, parts.plan), kLossColumns, "ppo.learning_rate or ppo.reward_scale"}),
      options_(options),
      settings_(parts.queue, 1),
      last_values_(parts.queue, static_cast<size_t>(rollout().last_rows * rollout().num_envs)),
      reward_normalizer_(parts.queue, options.reward_normalization ? 1 : 0, options.reward_rule()),
      discounted_return_(parts.queue, options.reward_normalization ? static_cast<size_t>(rollout().num_envs) : 0) {
  const LossSettings settings = loss_settings(options);
  queue().copy(settings_.data(), &settings, 1);
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        set_loss(LossId::ppo, PpoLoss<Policy>{policy, rollout(), settings_.data()});
      },
      distribution());
  envs().reset(queue(), rollout_arrays().start_row(), {});
  queue().synchronize();
}

void Ppo::enqueue_rollout_sums(double* out) {
  const RolloutView& r = rollout();
  const NormalizerView normalizer = normalizers().critic();
  nets().forward(spec().critic, weights(), {r.critic_input(), nullptr, r.samples() + r.num_envs, normalizer}, r.value);
  nets().forward(spec().critic, weights(), {r.last_critic_input(), nullptr, r.last_rows * r.num_envs, normalizer},
                 last_values_.data());
  const auto gamma = static_cast<float>(options_.gamma);
  if (options_.reward_normalization) {
    float* returns = r.advantage;  // scratch memory until the advantages are computed
    for_each(queue(), r.num_envs, DiscountedReturns{r, gamma, discounted_return_.data(), returns});
    reward_normalizer_.moments(returns, r.samples(), out + kRolloutSums, scratch());
  }
  for_each(queue(), r.num_envs,
           Advantages{r, gamma, static_cast<float>(options_.lam), static_cast<float>(options_.reward_scale),
                      last_values_.data(), reward_normalizer_.view()});
  sum_columns(queue(), r.samples(), AdvantageMoments::kColumns, scratch(),
              AdvantageMoments{r.advantage, r.return_target}, StoreMoments{r.samples(), out});
  if (options_.normalize_advantage_per_mini_batch) {
    const MiniBatches batches = mini_batches();
    const int updates = num_updates(options_, batches.plan), columns = 2 * updates;
    clear_sums(queue(), columns, scratch());
    add_rows(queue(), batches.plan.rows(), columns, scratch(),
             MiniBatchMoments{batches, inputs(), updates, r.advantage});
    finish_sums(queue(), columns, scratch(), StoreTo{out + mini_batch_moments(options_)});
  }
}

void Ppo::enqueue_before_update(const ResetUpdateNumbers& begin, const double* sums) {
  if (!options_.normalize_advantage || options_.normalize_advantage_per_mini_batch)
    return OnPolicy::enqueue_before_update(begin, sums);
  for_each(queue(), 1, StandardizeAdvantages{begin, settings_.data(), sums});
}

void Ppo::enqueue_before_mini_batch(const UpdateNumbers* numbers, const double* sums) {
  if (!options_.normalize_advantage_per_mini_batch) return;
  for_each(queue(), 1,
           StandardizeMiniBatch{settings_.data(), numbers, static_cast<double>(mini_batches().plan.num_mini_batches),
                                sums, sums + mini_batch_moments(options_)});
}

// Copies the last row of observations to the first row of the next rollout.
void Ppo::enqueue_after_update() { rollout_arrays().roll_over(); }

void Ppo::end_iteration() {
  reward_normalizer_.merge(rollout_sums().subspan(kRolloutSums, reward_normalizer_.moments_size()));
}

std::vector<Metric> Ppo::metrics() const {
  return {{"value_loss", "Value loss", "Loss/value", mean(kValue), true},
          {"surrogate_loss", "Surrogate loss", "Loss/surrogate", mean(kSurrogate), true},
          {"entropy", "Entropy", "Loss/entropy", mean(kEntropy), true},
          {"kl", "KL", "Policy/kl", mean(kKl), false, "kl {:>9}"},
          {"clip_fraction", "Clip fraction", "Policy/clip_fraction", mean(kClipped)},
          {"gradient_norm", "Gradient norm", "Loss/gradient_norm", gradient_norm()},
          {"explained_variance", "Explained variance", "Loss/explained_variance", explained_variance(rollout_sums())},
          {"learning_rate", "Learning rate", "Loss/learning_rate", learning_rate(), false, "lr {:>9}"},
          {"action_std", "Action std", "Policy/mean_std", action_std(), true}};
}

void Ppo::visit_state(StateVisitor& visitor) {
  OnPolicy::visit_state(visitor);
  const RolloutView& r = rollout();
  visitor.array("rollout/obs", r.obs, {r.num_envs, r.obs_dim}, Sharding::per_env, &queue());
  if (r.critic_obs_dim > 0)
    visitor.array("rollout/critic_obs", r.critic_obs, {r.num_envs, r.critic_obs_dim}, Sharding::per_env, &queue());
  reward_normalizer_.visit_state(visitor, "reward_normalizer");
  if (options_.reward_normalization)
    visitor.array("reward_normalizer/discounted_return", discounted_return_.data(), {r.num_envs}, Sharding::per_env,
                  &queue());
  envs().visit_state(visitor);
}

void Ppo::state_changed() {
  reward_normalizer_.refresh();
  OnPolicy::state_changed();
}

}  // namespace drl
