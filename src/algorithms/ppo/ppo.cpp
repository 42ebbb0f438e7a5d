#include "algorithms/ppo/ppo.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "base/check.hpp"

namespace drl {
namespace {

constexpr const char* kRemedy = "ppo.learning_rate or ppo.reward_scale";

void check_options(const PpoOptions& options) {
  if (options.normalize_advantage_per_mini_batch && !options.normalize_advantage)
    throw UsageError(
        "ppo.normalize_advantage_per_mini_batch is on while ppo.normalize_advantage is off (the first needs the "
        "second): switch both on or both off");
  const RndOptions& rnd = options.rnd;
  if (rnd.is_on() && rnd.weight_schedule == "linear" && rnd.final_step <= rnd.initial_step)
    throw UsageError("ppo.rnd.final_step " + std::to_string(rnd.final_step) + " is not above ppo.rnd.initial_step " +
                     std::to_string(rnd.initial_step) +
                     " (the weight changes linearly from one to the other): raise the first or lower the second");
}

int loss_columns(const PpoOptions& options) { return kLossColumns + options.symmetry_use().any(); }

LossSettings loss_settings(const PpoOptions& options) {
  LossSettings loss;
  loss.clip_param = static_cast<float>(options.clip_param);
  loss.value_clip =
      options.use_clipped_value_loss ? static_cast<float>(options.value_clip) : std::numeric_limits<float>::infinity();
  loss.value_loss_coef = static_cast<float>(options.value_loss_coef);
  loss.entropy_coef = static_cast<float>(options.entropy_coef);
  loss.weight = options.symmetry_use().augments ? 0.5f : 1.0f;
  return loss;
}

// Returns 1 - Var(advantage) / Var(return): the advantage is the part of the return that the value does not explain.
double explained_variance(std::span<const double> m) {
  const double of_return = variance(m[0], m[3], m[4]);
  return of_return > 0 ? 1 - variance(m[0], m[1], m[2]) / of_return : 0;
}

}  // namespace

BatchPlan Ppo::plan(const PpoOptions& options, BatchPlan requested, const TaskSpec& task) {
  check_options(options);
  if (options.symmetry_use().any()) require_symmetry(task, requested.sequences, "ppo.symmetry " + options.symmetry);
  requested.num_mini_batches = options.num_mini_batches;
  requested.check(kTraits.name, "--num_steps_per_env");
  return requested;
}

void Ppo::check(const PpoOptions& options, const PolicyOptions& policy) {
  if (options.symmetry_use().any() && find_distribution(policy.distribution)->outputs == Outputs::alphas_and_betas)
    throw UsageError("--ppo.symmetry " + options.symmetry + " cannot be used with --policy.distribution " +
                     policy.distribution +
                     " (tasks say how actions are mirrored, not the two "
                     "numbers of each that the network computes): use --policy.distribution squashed_gaussian, or "
                     "--ppo.symmetry none");
  if (options.symmetry_use().any() && policy.state_dependent_std)
    throw UsageError("--ppo.symmetry " + options.symmetry +
                     " cannot be used with --policy.state_dependent_std (tasks say how actions are mirrored, not their "
                     "standard deviations): leave that out, or use --ppo.symmetry none");
}

Ppo::Ppo(const LearnerParts& parts, const PpoOptions& options)
    : OnPolicyLearner(parts, options, {.loss_columns = loss_columns(options), .remedy = kRemedy}),
      nets_(parts.nets),
      options_(options),
      moments_(slots_.add(5)),
      rewards_(queue_, slots_, parts.plan,
               {.is_on = options.reward_normalization, .rule = options.reward_rule(), .gamma = options.gamma}),
      mini_batch_moments_(slots_.add(
          per_mini_batch() ? static_cast<size_t>(2 * options.num_learning_epochs * parts.plan.num_mini_batches) : 0)),
      settings_(queue_, 1),
      gradient_(
          parts, policy_, rollout(), kTraits.name, loss_columns(options),
          [this](const auto& distribution) {
            return PpoLoss{distribution, rollout(), settings_.data(), {}, loss_columns(options_)};
          },
          options.symmetry_use()),
      last_values_(queue_, static_cast<size_t>(rollout().last_rows * rollout().num_envs)),
      scratch_(queue_, sum_scratch(queue_, std::max<int64_t>(AdvantageMoments::kColumns,
                                                             static_cast<int64_t>(mini_batch_moments_.size)))) {
  const LossSettings settings = loss_settings(options);
  queue_.copy(settings_.data(), &settings, 1);
  if (!policy_.spec().critic_rnn.empty()) recurrent_critic_.emplace(parts, policy_, rollout().last_rows);
  if (options.rnd.is_on()) rnd_.emplace(parts, options.rnd, rollout(), slots_, gradients_);
  queue_.synchronize();
}

void Ppo::collect() {
  if (recurrent_critic_) recurrent_critic_->enqueue_begin(rollout());
  OnPolicyLearner::collect();
}

void Ppo::compute_targets() {
  if (rnd_) rnd_->enqueue_rewards(rounds_.lifetime_step(), slots_);
  compute_values();
  compute_advantages();
}

void Ppo::begin_update() {
  if (options_.normalize_advantage && !per_mini_batch()) {
    const ResetUpdateNumbers reset = rounds_.reset(optimizer_.numbers());
    for_each(queue_, 1, StandardizeAdvantages{reset, settings_.data(), slots_.at(moments_)});
  } else {
    OnPolicyLearner::begin_update();
  }
  if (options_.entropy_coef_end) for_each(queue_, 1, SetEntropyCoef{rounds_.inputs(), settings_.data()});
}

// V(s) of all observations, and of the last observations of truncated episodes.
void Ppo::compute_values() {
  const RolloutView& r = rollout();
  if (recurrent_critic_) return recurrent_critic_->enqueue_values(r, last_values_.data());
  const NetId critic = policy_.spec().critic;
  const NormalizerView normalizer = policy_.normalizers().critic();
  nets_.forward(critic, policy_.weights(), {r.critic_input(), nullptr, r.samples() + r.num_envs, normalizer}, r.value);
  nets_.forward(critic, policy_.weights(), {r.last_critic_input(), nullptr, r.last_rows * r.num_envs, normalizer},
                last_values_.data());
}

void Ppo::compute_advantages() {
  const RolloutView& r = rollout();
  const auto gamma = static_cast<float>(options_.gamma);
  rewards_.enqueue(r, slots_);
  for_each(queue_, r.num_envs,
           Advantages{r, gamma, static_cast<float>(options_.lam), static_cast<float>(options_.reward_scale),
                      last_values_.data(), rewards_.view()});
  sum_columns(queue_, r.samples(), AdvantageMoments::kColumns, scratch_.data(),
              AdvantageMoments{r.advantage, r.return_target}, StoreMoments{r.samples(), slots_.at(moments_)});
  if (!per_mini_batch()) return;
  const int columns = 2 * rounds_.count();
  clear_sums(queue_, columns, scratch_.data());
  add_rows(queue_, rounds_.plan().rows(), columns, scratch_.data(),
           MiniBatchMoments{rounds_.mini_batches(), rounds_.inputs(), rounds_.count(), r.advantage});
  finish_sums(queue_, columns, scratch_.data(), StoreTo{slots_.at(mini_batch_moments_)});
}

void Ppo::compute_gradient() {
  if (per_mini_batch())
    for_each(queue_, 1,
             StandardizeMiniBatch{settings_.data(), optimizer_.numbers(),
                                  static_cast<double>(rounds_.plan().num_mini_batches), slots_.at(moments_),
                                  slots_.at(mini_batch_moments_)});
  const int32_t* rows = next_rows();
  gradient_.enqueue(rows, rounds_.plan().rows(), optimizer_.gradient());
  if (rnd_) rnd_->enqueue_gradient(rows, rounds_.plan().rows());
}

void Ppo::take_step() {
  OnPolicyLearner::take_step();
  if (rnd_) rnd_->enqueue_step();
}

void Ppo::end() {
  OnPolicyLearner::end();
  if (rnd_) rnd_->enqueue_end();
}

void Ppo::read() {
  if (rnd_) rnd_->end(rounds_.first_step() + rounds_.plan().num_steps, slots_);
  rewards_.end(slots_);
  explained_variance_ = explained_variance(slots_.sums(moments_));
}

std::vector<Metric> Ppo::metrics() const {
  std::vector<Metric> all = {
      {"value_loss", "Value loss", "Loss/value", optimizer_.mean(kValue), true},
      {"surrogate_loss", "Surrogate loss", "Loss/surrogate", optimizer_.mean(kSurrogate), true},
      {"entropy", "Entropy", "Loss/entropy", optimizer_.mean(kEntropy), true},
      {"kl", "KL", "Policy/kl", optimizer_.mean(kKl), false, "kl {:>9}"},
      {"clip_fraction", "Clip fraction", "Policy/clip_fraction", optimizer_.mean(kClipped)},
      {"gradient_norm", "Gradient norm", "Loss/gradient_norm", optimizer_.gradient_norm()},
      {"explained_variance", "Explained variance", "Loss/explained_variance", explained_variance_},
      {"learning_rate", "Learning rate", "Loss/learning_rate", optimizer_.learning_rate(), false, "lr {:>9}"},
      {"action_std", "Action std", "Policy/mean_std", policy_.action_std(), true}};
  if (options_.symmetry_use().any())
    all.push_back({"symmetry_loss", "Symmetry loss", "Loss/symmetry", optimizer_.mean(kSymmetryColumn)});
  if (rnd_) std::ranges::copy(rnd_->metrics(), std::back_inserter(all));
  return all;
}

void Ppo::visit_own_state(StateVisitor& visitor) {
  if (recurrent_critic_) recurrent_critic_->visit_state(visitor);
  rewards_.visit_state(visitor);
  if (rnd_) rnd_->visit_state(visitor);
}

void Ppo::state_changed() {
  rewards_.state_changed();
  if (rnd_) rnd_->state_changed();
  OnPolicyLearner::state_changed();
}

}  // namespace drl
