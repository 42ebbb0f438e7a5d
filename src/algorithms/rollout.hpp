// The data that one iteration collects: T steps of N environments, in raw arrays that environments and networks write
// directly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/array.hpp"
#include "drl/lanes/hd.hpp"
#include "drl/task/spec.hpp"
#include "drl/task/step_row.hpp"
#include "policy/actor_kernels.hpp"

namespace drl {

// Pointers to a rollout's arrays, in the queue's memory. The members of Rollout document shapes and contents.
struct RolloutView {
  int64_t num_steps, num_envs, obs_dim, critic_obs_dim, out_size;
  float *obs, *critic_obs, *policy_out;
  std::byte* action;
  float *env_action, *log_prob, *reward;
  uint8_t *terminated, *truncated;
  int32_t* last_count;
  float *last_obs, *last_critic_obs;
  int64_t last_rows;
  float *value, *advantage, *return_target;
  float *actor_state, *critic_state;

  DRL_HD int64_t samples() const { return num_steps * num_envs; }
  const float* critic_input() const { return critic_obs_dim > 0 ? critic_obs : obs; }
  const float* last_critic_input() const { return critic_obs_dim > 0 ? last_critic_obs : last_obs; }
};

class Rollout {
 public:
  // With `every_end` the last observation of every episode is stored, not only of truncated ones. `actor_state` and
  // `critic_state` are the sizes of the states of recurrent networks. `out_size` is the number of the actor's outputs;
  // 0: one for each number of an action, or each choice.
  Rollout(Queue& queue, const TaskSpec& task, int64_t num_steps, int64_t num_envs, bool every_end = false,
          int actor_state = 0, int critic_state = 0, int out_size = 0);

  Queue& queue() const { return queue_; }
  const RolloutView& view() const { return view_; }
  // Enqueues the start of a rollout: no last observations are stored yet.
  void begin();
  // Enqueues the copy of the observations in row T to row 0.
  void roll_over();
  // Returns the arrays that step t of the environments reads and writes.
  StepRow row(int64_t t) const;
  // Returns the arrays that the choice of actions in step t reads and writes.
  ActionRow action_row(int64_t t) const;
  // Returns the arrays of row 0, for VecEnv::reset.
  StepRow start_row() const;

 private:
  Queue& queue_;
  bool every_end_;
  int64_t action_numbers_;        // per sample
  Array<float> obs_;              // [T+1, N, obs_dim], not normalised; row T becomes the next rollout's row 0
  Array<float> critic_obs_;       // [T+1, N, critic_obs_dim], empty if the critic uses obs
  Array<float> policy_out_;       // [T, N, out_size], the actor's outputs: means or logits
  Array<std::byte> action_;       // [T, N, heads] choices (int32), or [T, N, size] floats before clipping
  Array<float> env_action_;       // [N, size], clipped to the task's bounds, of the current step; empty if discrete
  Array<float> log_prob_;         // [T, N]
  Array<float> reward_;           // [T, N]
  Array<uint8_t> terminated_;     // [T, N]
  Array<uint8_t> truncated_;      // [T, N]
  Array<int32_t> last_count_;     // [N], number of last observations of environment i; the k-th is in row [k, i]
  Array<float> last_obs_;         // [last_rows, N, obs_dim]
  Array<float> last_critic_obs_;  // [last_rows, N, critic_obs_dim]
  Array<float> value_;            // [T+1, N]
  Array<float> advantage_;        // [T, N]
  Array<float> return_target_;    // [T, N], advantage + value
  Array<float> actor_state_;      // [N, actor_state], of recurrent layers before row 0
  Array<float> critic_state_;     // [N, critic_state]
  RolloutView view_;
};

}  // namespace drl
