#pragma once

#include <cstdint>

#include "drl/lanes/hd.hpp"
#include "drl/task/step_row.hpp"

namespace drl {

// Copies the last observations of episodes, after a step on the host, to the rows of the rollout on the GPU.
struct KeepLast {
  StepRow row;
  int64_t num_envs, obs_dim, critic_obs_dim;
  const int32_t* kept;            // [num_envs] 1: this environment has a last observation
  const float *obs, *critic_obs;  // [num_envs, ...]
  DRL_HD void operator()(int64_t i) const {
    if (kept[i] == 0) return;
    const int64_t at = row.take_last_row(i, num_envs, true);
    for (int64_t o = 0; o < obs_dim && at >= 0; ++o) row.last_obs[at * obs_dim + o] = obs[i * obs_dim + o];
    for (int64_t o = 0; o < critic_obs_dim && at >= 0; ++o)
      row.last_critic_obs[at * critic_obs_dim + o] = critic_obs[i * critic_obs_dim + o];
  }
};

}  // namespace drl
