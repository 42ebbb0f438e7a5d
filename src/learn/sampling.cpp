#include "learn/sampling.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "base/philox.hpp"
#include "base/simd.hpp"

namespace drl {
namespace {

constexpr float kTwoPi = 6.28318530717958647692f;
constexpr float kHalfLogTwoPi = 0.91893853320467274178f;

struct ActionRow {
  int64_t n, first_env;
  int size;
  const float *policy_out, *std, *low, *high;
  float *action, *env_action, *log_prob;
  int32_t* choice;
};

ActionRow row_of(const ActionSpace& space, int64_t t, Rollout& r) {
  const int64_t first = t * r.num_envs;
  return {r.num_envs,
          r.first_env,
          space.size,
          r.policy_out.data() + first * space.size,
          r.std.data(),
          space.low.data(),
          space.high.data(),
          r.discrete ? nullptr : r.action.data() + first * space.size,
          r.env_action.data(),
          r.log_prob.data() + first,
          r.discrete ? r.choice.data() + first : nullptr};
}

// One dimension of all environments; log_prob accumulates over the dimensions. Two dimensions share one Box-Muller
// pair, four share one Philox block.
DRL_CLONES void sample_gaussian(const ActionRow& row, int k, uint64_t seed, uint64_t step) {
  const float std = row.std[k], low = row.low[k], high = row.high[k], log_norm = math::log(std) + kHalfLogTwoPi;
  const uint32_t block = static_cast<uint32_t>(k) / 4;
  const int pair = k % 4 / 2 * 2;
  const bool cosine = k % 2 == 0;
  for (int64_t i = 0; i < row.n; ++i) {
    const Words4 bits = random_bits(seed, Purpose::action, static_cast<uint64_t>(row.first_env + i), step, block);
    const float radius = math::sqrt(-2.0f * math::log(1.0f - uniform01(pair ? bits[2] : bits[0])));
    const float angle = kTwoPi * uniform01(pair ? bits[3] : bits[1]);
    const float noise = radius * (cosine ? math::cos(angle) : math::sin(angle));
    const float action = row.policy_out[i * row.size + k] + std * noise;
    row.action[i * row.size + k] = action;
    row.env_action[i * row.size + k] = math::clamp(action, low, high);
    const float log_prob = -0.5f * noise * noise - log_norm;
    row.log_prob[i] = k == 0 ? log_prob : row.log_prob[i] + log_prob;
  }
}

DRL_CLONES void sample_categorical(const ActionRow& row, uint64_t seed, uint64_t step) {
  for (int64_t i = 0; i < row.n; ++i) {
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
}

}  // namespace

void sample_actions(const ActionSpace& space, uint64_t seed, int64_t lifetime_step, int64_t t, Rollout& rollout) {
  const ActionRow row = row_of(space, t, rollout);
  const uint64_t step = static_cast<uint64_t>(lifetime_step);
  if (space.discrete) return sample_categorical(row, seed, step);
  for (int k = 0; k < space.size; ++k) sample_gaussian(row, k, seed, step);
}

void most_probable_actions(const ActionSpace& space, int64_t t, Rollout& rollout) {
  const ActionRow row = row_of(space, t, rollout);
  for (int64_t i = 0; i < row.n; ++i) {
    const float* out = row.policy_out + i * row.size;
    if (space.discrete) {
      row.choice[i] = static_cast<int32_t>(std::max_element(out, out + row.size) - out);
      continue;
    }
    for (int k = 0; k < row.size; ++k) {
      row.action[i * row.size + k] = out[k];
      row.env_action[i * row.size + k] = std::clamp(out[k], row.low[k], row.high[k]);
    }
  }
}

}  // namespace drl
