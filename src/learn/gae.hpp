#pragma once

#include "drl/hd.hpp"
#include "learn/rollout.hpp"

namespace drl {

// One step of what follows; `next` is the advantage of the step after it (0 behind the last), `ended` 1 or 0.
DRL_HD float advantage_of(float reward, float value, float next_value, int ended, float next, float gamma, float lam) {
  const float goes_on = ended ? 0.0f : 1.0f;
  const float delta = reward + gamma * next_value * goes_on - value;  // TD error: r_t + gamma V(s_{t+1}) - V(s_t)
  return delta + gamma * lam * goes_on * next;
}

// Generalised advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", arXiv:1506.02438, eq. 16): reads reward (already scaled, and with gamma * V(final observation) added
// where an episode was truncated), value, terminated, truncated; writes advantage and return_target. The trace is cut
// wherever an episode ended, of either cause.
void generalized_advantages(Rollout& rollout, float gamma, float lam);

}  // namespace drl
