// The actions of TD3's critics and the loss of its actor (td3.hpp).
#pragma once

#include <cstdint>

#include "algorithms/off_policy_kernels.hpp"
#include "policy/squashed_gaussian.hpp"

namespace drl {

// Writes the actions of an actor's outputs to the critics' inputs, with clipped noise on each (both in units of half
// the range between the bounds).
struct SmoothActions {
  SquashedGaussian policy;
  ActionNoise noise;
  float std, most;   // of the noise: standard deviation, and largest absolute value
  const float* out;  // [B, action_size], means before tanh
  int64_t obs_dim;
  float* input;  // [B, obs_dim + action_size]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const int64_t width = obs_dim + policy.size;
    standard_normals<F>(noise, i, policy.size, [&](int k, const F& z) DRL_LAMBDA {
      const F moved = math::tanh(load_column<F>(out, i, policy.size, k)) + math::clamp(F(std) * z, F(-most), F(most));
      store_strided(input + i * width + obs_dim + k, width, policy.squash(k).of_tanh(moved));
    });
  }
};

// loss = -Q_1(s, a(s)), where a = middle + half tanh(x) (Silver et al., "Deterministic Policy Gradient Algorithms",
// ICML 2014).
struct DeterministicLoss {
  SquashedGaussian policy;
  const float* out;      // [B, action_size]
  const float* q;        // [B]
  const float* d_input;  // [B, obs_dim + action_size], derivatives of -Q_1 with respect to the critic's inputs
  int64_t obs_dim;
  float* d_out;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const int64_t width = obs_dim + policy.size;
    for (int k = 0; k < policy.size; ++k) {
      const F u = math::tanh(load_column<F>(out, i, policy.size, k));
      const F d_action = load_strided<F>(d_input + i * width + obs_dim + k, width);
      store_column(d_out, i, policy.size, k, d_action * F(policy.squash(k).half()) * (F(1) - u * u));
    }
    sums.add(kSamples, F(1));
    sums.add(ActorColumn::loss, -load<F>(q + i));
  }
};

}  // namespace drl
