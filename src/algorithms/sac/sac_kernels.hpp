// The losses of SAC's actor and temperature (sac.hpp), and their gradients.
#pragma once

#include <cstdint>

#include "algorithms/off_policy_kernels.hpp"
#include "policy/squashed_state_gaussian.hpp"

namespace drl {

// Writes actions that are drawn from the actor's outputs to the critics' inputs, and their log-probabilities.
struct DrawActions {
  SquashedStateGaussian policy;
  ActionNoise noise;
  const float* out;  // [B, 2 action_size]
  int64_t obs_dim;
  float* input;     // [B, obs_dim + action_size]
  float* log_prob;  // [B]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const int64_t width = obs_dim + policy.size;
    F sum = F(0);
    policy.draw<F>(noise, out, i, [&](int k, const auto& drawn) DRL_LAMBDA {
      store_strided(input + i * width + obs_dim + k, width, policy.squash(k).of_tanh(drawn.tanh));
      sum = sum + drawn.log_prob;
    });
    store(log_prob + i, sum);
  }
};

// loss = temperature log pi(a | s) - Q(s, a), where a = middle + half tanh(x) and x = mean + std z with fixed z, so
// that the gradient goes through the action (Haarnoja et al., "Soft Actor-Critic Algorithms and Applications",
// arXiv:1812.05905, eq. 9). With u = tanh(x): d log pi / d x = 2 u, d log pi / d log std = 2 u std z - 1.
struct ActorLoss {
  SquashedStateGaussian policy;
  ActionNoise noise;
  const float* out;  // [B, 2 action_size]
  CriticValues values;
  const float* d_input[kCritics];  // [B, obs_dim + action_size], derivatives of -Q with respect to the critics' inputs
  int64_t obs_dim;
  const float *log_prob, *log_temperature;
  float* d_out;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const int64_t width = obs_dim + policy.size, first = i * width + obs_dim;
    const F temperature = math::exp(F(*log_temperature)), log_pi = load<F>(log_prob + i);
    policy.draw<F>(noise, out, i, [&](int k, const auto& drawn) DRL_LAMBDA {
      const F d_action =
          load_strided<F>(d_input[0] + first + k, width) + load_strided<F>(d_input[1] + first + k, width);
      const F slope = F(policy.squash(k).half()) * (F(1) - drawn.tanh * drawn.tanh);
      const F d_x = F(2) * temperature * drawn.tanh + d_action * slope;
      store_column(d_out, i, 2 * policy.size, k, d_x);
      store_column(d_out, i, 2 * policy.size, policy.size + k,
                   policy.unsquashed().d_raw(drawn.normal, d_x * drawn.normal.std * drawn.z - temperature));
    });
    sums.add(kSamples, F(1));
    sums.add(ActorColumn::loss, temperature * log_pi - values.at<F>(i));
    sums.add(ActorColumn::log_prob, log_pi);
  }
};

// The gradient of the temperature's loss, -temperature (log pi + target entropy), with respect to its logarithm, summed
// over the samples of the actor's loss, whose columns are `tail`.
struct TemperatureGradient {
  const float *log_temperature, *tail;
  float target_entropy;
  float *gradient, *own_tail;
  DRL_HD void operator()(int64_t) const {
    *gradient = -math::exp(*log_temperature) * (tail[ActorColumn::log_prob] + target_entropy * tail[kSamples]);
    own_tail[kSamples] = tail[kSamples], own_tail[kKl] = 0;
  }
};

}  // namespace drl
