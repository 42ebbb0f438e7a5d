#pragma once

#include <cstdint>

#include "learn/rollout.hpp"
#include "tasks/task_spec.hpp"

namespace drl {

// Draws step t's actions from the policy outputs of row t [N, action_size] and fills that row of action (and
// env_action, clipped to the bounds) or choice, and of log_prob. Random numbers are keyed by (seed, global environment,
// lifetime step). Gaussian: Box-Muller. Categorical: inverse of the cumulative distribution.
void sample_actions(const ActionSpace& space, uint64_t seed, int64_t lifetime_step, int64_t t, Rollout& rollout);

// The actions without noise, for evaluation: means, or the most probable choice.
void most_probable_actions(const ActionSpace& space, int64_t t, Rollout& rollout);

}  // namespace drl
