// The one float64 all-reduce of an iteration, part by part: written and read by PPO on every kind of device.
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "base/check.hpp"
#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "envs/vec_env.hpp"
#include "learn/ppo_loss.hpp"

namespace drl {

// Where each part begins.
struct ReduceLayout {
  size_t riders = 0;       // the loop's own numbers
  size_t advantage;        // n, sum and sum of squares of advantages, then of returns
  size_t episodes;         // count, reward, reward squared, length, terms
  size_t obs, critic_obs;  // moments of observations
  size_t bad_numbers;      // one slot a rank: 1 if its numbers are not finite
  size_t size;

  ReduceLayout(size_t rider_count, size_t reward_terms, size_t obs_moments, size_t critic_moments, int world_size)
      : advantage(rider_count),
        episodes(advantage + 5),
        obs(episodes + 4 + reward_terms),
        critic_obs(obs + obs_moments),
        bad_numbers(critic_obs + critic_moments),
        size(bad_numbers + static_cast<size_t>(world_size)) {}
};

inline EpisodeSums read_episodes(const double* in, size_t terms) {
  return {in[0], in[1], in[2], in[3], {in + 4, in + 4 + terms}};
}

// Throws the same error on all ranks if one of them had numbers that are not finite.
inline void require_finite(std::span<const double> reduced, const ReduceLayout& at, int world_size) {
  for (int rank = 0; rank < world_size; ++rank)
    if (reduced[at.bad_numbers + static_cast<size_t>(rank)] > 0)
      throw SharedError(
          "numbers are not finite on rank " + std::to_string(rank) +
          " (an observation, reward or value is NaN or infinite): lower ppo.learning_rate or ppo.reward_scale, or "
          "check the task; the last checkpoint is from before");
}

[[noreturn]] inline void gradient_is_not_finite() {
  throw SharedError(
      "the gradient is not finite (the learning diverged): lower ppo.learning_rate; the last checkpoint is from "
      "before");
}

DRL_HD double variance(double n, double sum, double squares) {
  const double mean = sum / n;
  return math::max(0.0, squares / n - mean * mean);
}

// Of m = {n, sum, sum of squares, ...} of all advantages.
DRL_HD void normalize_advantages(const double* m, LossSettings& loss) {
  const double unbiased = m[0] > 1 ? m[0] / (m[0] - 1) : 1;  // as torch.std
  const double deviation = math::sqrt_double(variance(m[0], m[1], m[2]) * unbiased);
  loss.advantage_mean = static_cast<float>(m[1] / m[0]);
  loss.advantage_inv_std = static_cast<float>(1 / (deviation + 1e-8));
}

// The advantage is what the value failed to explain of the return.
inline double explained_variance(const double* m) {
  const double of_return = variance(m[0], m[3], m[4]);
  return of_return > 0 ? 1 - variance(m[0], m[1], m[2]) / of_return : 0;
}

}  // namespace drl
