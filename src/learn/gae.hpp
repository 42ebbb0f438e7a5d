#pragma once

#include "learn/rollout.hpp"

namespace drl {

// Generalised advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", arXiv:1506.02438, eq. 16): reads reward (already scaled, and with gamma * V(final observation) added
// where an episode was truncated), value, terminated, truncated; writes advantage and return_target. The trace is cut
// wherever an episode ended, of either cause.
void generalized_advantages(Rollout& rollout, float gamma, float lam);

}  // namespace drl
