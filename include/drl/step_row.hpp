#pragma once

#include <cstdint>

#include "drl/hd.hpp"

namespace drl {

// The arrays that one step reads and writes, rows of the rollout itself: nothing is copied afterwards. N environments.
struct StepRow {
  const void* action = nullptr;      // [N] int32 (discrete), [N, action.size] float (continuous, already clipped)
  float* next_obs = nullptr;         // [N, obs_dim]: observation after the step; of the new episode if one ended
  float* next_critic_obs = nullptr;  // [N, critic_obs_dim], null if the critic sees what the actor sees
  float* reward = nullptr;           // [N]
  uint8_t* terminated = nullptr;     // [N] 1: the task ended the episode
  uint8_t* truncated = nullptr;      // [N] 1: the step limit (or the task) cut it, and it was not terminated

  // Last observations of truncated episodes (of all ended ones, with every_end): the k-th of environment i since its
  // count was zeroed goes to row [k, i]. Rows beyond `last_rows` are counted and not written.
  float* last_obs = nullptr;         // [last_rows, N, obs_dim]
  float* last_critic_obs = nullptr;  // [last_rows, N, critic_obs_dim]
  int32_t* last_count = nullptr;     // [N]
  int64_t last_rows = 0;
  bool every_end = false;

  // The row of [last_rows, N] that environment i's last observation goes to, -1 for none; counts it.
  DRL_HD int64_t take_last_row(int64_t i, int64_t num_envs, bool was_truncated) const {
    if (!last_count || !(was_truncated || every_end)) return -1;
    const int32_t k = last_count[i]++;
    return k < last_rows ? k * num_envs + i : -1;
  }
};

// The step of the environments' lifetime that keys their random numbers, *first + offset: the first is a number in the
// queue's memory, so that a recorded step can be launched again.
struct LifetimeStep {
  const int64_t* first = nullptr;  // null: 0
  int64_t offset = 0;
  DRL_HD uint64_t value() const { return static_cast<uint64_t>((first ? *first : 0) + offset); }
};

// How all environments begin anew.
struct Start {
  LifetimeStep step = {};  // the next one, which keys the starts
  // Above 0: so many environments after each other, by global index, start from one state and at age 0, and of each
  // environment only the first episode is counted until the next such start.
  int64_t group_size = 0;
};

}  // namespace drl
