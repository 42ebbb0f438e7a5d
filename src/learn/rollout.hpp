// What one iteration collects: T steps of N environments, on raw arrays that environments and engines write directly.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "drl/hd.hpp"
#include "envs/vec_env.hpp"
#include "drl/task_spec.hpp"

namespace drl {

// A rollout's arrays as pointers, of host or device; Rollout tells what each is.
struct RolloutView {
  int64_t num_steps, num_envs, obs_dim, critic_obs_dim, action_size;
  bool discrete;
  int64_t first_env;
  float *obs, *critic_obs, *policy_out, *std, *action;
  int32_t* choice;
  float *env_action, *log_prob, *reward;
  uint8_t *terminated, *truncated;
  float *final_obs, *final_critic_obs, *value, *advantage, *return_target;

  DRL_HD int64_t samples() const { return num_steps * num_envs; }
  DRL_HD const float* critic_input() const { return critic_obs_dim > 0 ? critic_obs : obs; }
  DRL_HD int64_t critic_input_dim() const { return critic_obs_dim > 0 ? critic_obs_dim : obs_dim; }
  DRL_HD const float* final_critic_input() const { return critic_obs_dim > 0 ? final_critic_obs : final_obs; }

  // The arrays that step t of the environments writes; without an action before it is sampled.
  StepRow row(int64_t t) const;
  // Row 0, for VecEnv::reset.
  StepRow start_row() const;
};

// Of arrays with the members' names, in host or device memory; they stay the caller's.
template <class Arrays>
RolloutView view_of(Arrays& a, int64_t num_steps, int64_t num_envs, int64_t obs_dim, int64_t critic_obs_dim,
                    int64_t action_size, bool discrete, int64_t first_env) {
  return {num_steps,
          num_envs,
          obs_dim,
          critic_obs_dim,
          action_size,
          discrete,
          first_env,
          a.obs.data(),
          a.critic_obs.data(),
          a.policy_out.data(),
          a.std.data(),
          a.action.data(),
          a.choice.data(),
          a.env_action.data(),
          a.log_prob.data(),
          a.reward.data(),
          a.terminated.data(),
          a.truncated.data(),
          a.final_obs.data(),
          a.final_critic_obs.data(),
          a.value.data(),
          a.advantage.data(),
          a.return_target.data()};
}

struct Rollout {
  Rollout(const TaskSpec& task, int64_t num_steps, int64_t num_envs);

  int64_t num_steps, num_envs;  // T, N
  int64_t obs_dim, critic_obs_dim, action_size;
  bool discrete;
  int64_t first_env = 0;  // global index of environment 0

  Array<float> obs;           // [T+1, N, obs_dim], raw; row T becomes the next rollout's row 0
  Array<float> critic_obs;    // [T+1, N, critic_obs_dim], empty if the critic sees obs
  Array<float> policy_out;    // [T, N, action_size], the actor's means or logits
  Array<float> std;           // [action_size], standard deviations during the rollout (Gaussian)
  Array<float> action;        // [T, N, action_size], sampled, before clipping (Gaussian)
  Array<int32_t> choice;      // [T, N], sampled (categorical)
  Array<float> env_action;    // [N, action_size], clipped to the task's bounds: this step's only (Gaussian)
  Array<float> log_prob;      // [T, N]
  Array<float> reward;        // [T, N]
  Array<uint8_t> terminated;  // [T, N]
  Array<uint8_t> truncated;   // [T, N]
  Array<float> final_obs;     // [T, N, obs_dim], written only where an episode ended
  Array<float> final_critic_obs;
  Array<float> value;          // [T+1, N]
  Array<float> advantage;      // [T, N]
  Array<float> return_target;  // [T, N], advantage + value

  int64_t samples() const { return num_steps * num_envs; }
  const float* critic_input() const { return critic_obs.empty() ? obs.data() : critic_obs.data(); }
  int64_t critic_input_dim() const { return critic_obs.empty() ? obs_dim : critic_obs_dim; }
  const float* final_critic_input() const { return critic_obs.empty() ? final_obs.data() : final_critic_obs.data(); }

  RolloutView view();
  StepRow row(int64_t t) { return view().row(t); }
  StepRow start_row() { return view().start_row(); }
  // Row T becomes row 0.
  void roll_over();
};

}  // namespace drl
