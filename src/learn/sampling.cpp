#include "learn/sampling.hpp"

#include <algorithm>

#include "base/simd.hpp"

namespace drl {
namespace {

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

DRL_CLONES void sample_gaussian_row(const ActionRow& row, int k, uint64_t seed, uint64_t step) {
  const GaussianDimension dimension = gaussian_dimension(row, k);
  for (int64_t i = 0; i < row.n; ++i) sample_gaussian(row, dimension, i, seed, step);
}

DRL_CLONES void sample_categorical_row(const ActionRow& row, uint64_t seed, uint64_t step) {
  for (int64_t i = 0; i < row.n; ++i) sample_categorical(row, i, seed, step);
}

}  // namespace

void sample_actions(const ActionSpace& space, uint64_t seed, int64_t lifetime_step, int64_t t, Rollout& rollout) {
  const ActionRow row = row_of(space, t, rollout);
  const uint64_t step = static_cast<uint64_t>(lifetime_step);
  if (space.discrete) return sample_categorical_row(row, seed, step);
  for (int k = 0; k < space.size; ++k) sample_gaussian_row(row, k, seed, step);
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
