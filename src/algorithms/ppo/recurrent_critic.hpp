// The values of a critic with recurrent layers.
#pragma once

#include <cstdint>

#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "nets/recurrent.hpp"

namespace drl {

class RecurrentCritic {
 public:
  // The caller owns `policy`, which must outlive the critic. `last_rows` is that of the rollouts.
  RecurrentCritic(const LearnerParts& parts, LearnedPolicy& policy, int64_t last_rows);

  // Enqueues the copy of the states to rollout.critic_state, before the rollout's collection.
  void enqueue_begin(const RolloutView& rollout);
  // Enqueues V of all observations, to rollout.value [T+1, N], and of the last observations of truncated episodes, to
  // last_values [last_rows, N]. The states are then those before row 0 of the next rollout. The last observation of an
  // episode is valued with the state after the episode's other observations.
  void enqueue_values(const RolloutView& rollout, float* last_values);

  // The states [N, state_size] before row 0 of the next rollout.
  void visit_state(StateVisitor& visitor);

 private:
  const float* value(const Rows& x, float* states);
  void keep_last_states(const RolloutView& r, int64_t step);

  Queue& queue_;
  Nets& nets_;
  LearnedPolicy& policy_;
  const RnnSpec& rnn_;
  int64_t num_envs_;
  RnnStep step_;
  Array<float> states_, other_states_;  // other_states_: of steps that are not part of the sequence
  Array<float> last_states_;            // [last_rows, N, state_size], with which the last observations are valued
  Array<float> values_;                 // [N]
  Array<int32_t> taken_, rows_;         // [N] of TakeLastRows
};

}  // namespace drl
