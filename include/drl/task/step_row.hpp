#pragma once

#include <cstdint>

#include "drl/lanes/hd.hpp"

namespace drl {

// StepRow::terminated after a step that lost the environment. As at each end, its lowest bit is set.
inline constexpr uint8_t kLost = 3;

// The arrays that one step of N environments reads and writes. They are rows of the rollout itself, so that nothing is
// copied afterwards.
struct StepRow {
  const void* action = nullptr;      // [N] int32 (discrete), [N, action.size] float (continuous, already clipped)
  float* next_obs = nullptr;         // [N, obs_dim]: observation after the step; after a reset, of the new episode
  float* next_critic_obs = nullptr;  // [N, critic_obs_dim], null if the critic receives the actor's observation
  float* reward = nullptr;           // [N]
  uint8_t* terminated = nullptr;     // [N] 1: the task ended the episode; kLost: a value was not finite
  uint8_t* truncated = nullptr;      // [N] 1: the step limit or the task truncated it, and it was not terminated

  // Last observations of truncated episodes (with every_end: of all episodes). Environment i's k-th one since
  // last_count[i] was set to 0 goes to row [k, i]. Rows from `last_rows` on are counted but not written.
  float* last_obs = nullptr;         // [last_rows, N, obs_dim]
  float* last_critic_obs = nullptr;  // [last_rows, N, critic_obs_dim]
  int32_t* last_count = nullptr;     // [N]
  int64_t last_rows = 0;
  bool every_end = false;

  // Counts a last observation of environment i. Returns its row in [last_rows, N], or -1 if it must not be written.
  DRL_HD int64_t take_last_row(int64_t i, int64_t num_envs, bool was_truncated) const {
    if (!last_count || !(was_truncated || every_end)) return -1;
    const int32_t k = last_count[i]++;
    return k < last_rows ? k * num_envs + i : -1;
  }
};

// The step of the environments' lifetime, *first + offset, which keys their random numbers. *first is in the queue's
// memory, so that the recorded graph of a step can be launched again.
struct LifetimeStep {
  const int64_t* first = nullptr;  // null: 0
  int64_t offset = 0;
  DRL_HD uint64_t value() const { return static_cast<uint64_t>((first ? *first : 0) + offset); }
};

// How a reset of all environments starts them.
struct Start {
  LifetimeStep step = {};  // the next step, which keys the random numbers of the reset
  // If above 0, groups of group_size consecutive environments (by global index) start from the same state, at age 0.
  // Only the first episode of each environment is then counted until the next such reset.
  int64_t group_size = 0;
};

}  // namespace drl
