#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "drl/philox.hpp"
#include "learn/rollout.hpp"
#include "drl/task_spec.hpp"

namespace drl {

// Draws step t's actions from the policy outputs of row t [N, action_size] and fills that row of action (and
// env_action, clipped to the bounds) or choice, and of log_prob. Random numbers are keyed by (seed, global environment,
// lifetime step). Gaussian: Box-Muller. Categorical: inverse of the cumulative distribution.
void sample_actions(const ActionSpace& space, uint64_t seed, int64_t lifetime_step, int64_t t, Rollout& rollout);

// The actions without noise, for evaluation: means, or the most probable choice.
void most_probable_actions(const ActionSpace& space, int64_t t, Rollout& rollout);

// Row t of a rollout, for what follows.
struct ActionRow {
  int64_t n, first_env;  // environments; the global index of the first
  int size;              // of an action, or the number of choices
  const float *policy_out, *std, *low, *high;
  float *action, *env_action, *log_prob;
  int32_t* choice;
};

// One dimension of a Gaussian policy.
struct GaussianDimension {
  int k;
  float std, low, high;  // bounds of what the environment gets
  float log_norm;        // log std + log sqrt(2 pi)
};

DRL_HD GaussianDimension gaussian_dimension(const ActionRow& row, int k) {
  constexpr float half_log_two_pi = 0.91893853320467274178f;
  return {k, row.std[k], row.low[k], row.high[k], math::log(row.std[k]) + half_log_two_pi};
}

// Environment i's action in this dimension; its log-probability is added to those of the dimensions before. Two
// dimensions share one Box-Muller pair, four share one Philox block.
DRL_HD void sample_gaussian(const ActionRow& row, const GaussianDimension& d, int64_t i, uint64_t seed, uint64_t step) {
  constexpr float two_pi = 6.28318530717958647692f;
  const bool second_pair = d.k % 4 / 2 != 0, cosine = d.k % 2 == 0;
  const uint32_t block = static_cast<uint32_t>(d.k) / 4;
  const Words4 bits = random_bits(seed, Purpose::action, static_cast<uint64_t>(row.first_env + i), step, block);
  const float radius = math::sqrt(-2.0f * math::log(1.0f - uniform01(second_pair ? bits[2] : bits[0])));
  const float angle = two_pi * uniform01(second_pair ? bits[3] : bits[1]);
  const float noise = radius * (cosine ? math::cos(angle) : math::sin(angle));
  const float action = row.policy_out[i * row.size + d.k] + d.std * noise;
  row.action[i * row.size + d.k] = action;
  row.env_action[i * row.size + d.k] = math::clamp(action, d.low, d.high);
  const float log_prob = -0.5f * noise * noise - d.log_norm;
  row.log_prob[i] = d.k == 0 ? log_prob : row.log_prob[i] + log_prob;
}

DRL_HD void sample_categorical(const ActionRow& row, int64_t i, uint64_t seed, uint64_t step) {
  const float* logits = row.policy_out + i * row.size;
  float largest = logits[0], sum = 0;
  for (int k = 1; k < row.size; ++k) largest = math::max(largest, logits[k]);
  for (int k = 0; k < row.size; ++k) sum += math::exp(logits[k] - largest);
  const Words4 bits = random_bits(seed, Purpose::action, static_cast<uint64_t>(row.first_env + i), step);
  const float target = uniform01(bits[0]) * sum;
  float below = 0;  // probability mass (times sum) of the choices up to k
  int32_t choice = 0;
  for (int k = 0; k + 1 < row.size; ++k) {
    below += math::exp(logits[k] - largest);
    choice += below <= target ? 1 : 0;
  }
  row.choice[i] = choice;
  row.log_prob[i] = logits[choice] - largest - math::log(sum);
}

}  // namespace drl
