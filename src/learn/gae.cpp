#include "learn/gae.hpp"

#include "base/simd.hpp"

namespace drl {
namespace {

// One row: environments side by side. `next` is row t+1 of advantages (zeros behind the last).
DRL_CLONES void advantage_row(int64_t n, float gamma, float lam, const float* reward, const float* value,
                              const float* next_value, const uint8_t* terminated, const uint8_t* truncated,
                              const float* next, float* advantage, float* return_target) {
  for (int64_t i = 0; i < n; ++i) {
    advantage[i] = advantage_of(reward[i], value[i], next_value[i], terminated[i] | truncated[i], next[i], gamma, lam);
    return_target[i] = advantage[i] + value[i];
  }
}

}  // namespace

void generalized_advantages(Rollout& r, float gamma, float lam) {
  const int64_t n = r.num_envs;
  const Array<float> zeros(n);
  for (int64_t t = r.num_steps - 1; t >= 0; --t) {
    const int64_t first = t * n;
    const float* next = t + 1 < r.num_steps ? r.advantage.data() + first + n : zeros.data();
    advantage_row(n, gamma, lam, r.reward.data() + first, r.value.data() + first, r.value.data() + first + n,
                  r.terminated.data() + first, r.truncated.data() + first, next, r.advantage.data() + first,
                  r.return_target.data() + first);
  }
}

}  // namespace drl
