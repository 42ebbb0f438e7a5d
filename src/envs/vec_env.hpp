// N copies of a task, stepped at once. A CPU or CUDA executor of our tasks, MuJoCo, or a user's own simulator implement
// this contract directly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "tasks/task_spec.hpp"

namespace drl {

// The arrays that one step reads and writes, rows of the rollout itself: nothing is copied afterwards.
struct StepRow {
  const void* action = nullptr;      // [N] int32 (discrete), [N, action.size] float (continuous, already clipped)
  float* next_obs = nullptr;         // [N, obs_dim]: observation after the step; of the new episode if one ended
  float* next_critic_obs = nullptr;  // [N, critic_obs_dim], null if the critic sees what the actor sees
  float* reward = nullptr;           // [N]
  uint8_t* terminated = nullptr;     // [N] 1: the task ended the episode
  uint8_t* truncated = nullptr;      // [N] 1: the step limit ended it, and the task did not
  float* final_obs = nullptr;        // [N, obs_dim]; written only where an episode ended: its last observation
  float* final_critic_obs = nullptr;
};

// Sums over the episodes that ended since they were last taken. Undiscounted returns of unscaled rewards.
struct EpisodeSums {
  double count = 0, reward = 0, reward_squared = 0, length = 0;
  std::vector<double> terms;  // [reward_terms], the sum of each term over those episodes
};

class VecEnv {
 public:
  virtual ~VecEnv() = default;
  virtual const TaskSpec& spec() const = 0;
  virtual int64_t num_envs() const = 0;
  // Starts every environment anew and writes next_obs (and next_critic_obs) only.
  virtual void reset(const StepRow& row) = 0;
  // Steps every environment; one whose episode ended is reset at once. `step` counts the environments' lifetime (from
  // 0, never the episode's): it keys their random numbers.
  virtual void step(int64_t step, const StepRow& row) = 0;
  // Episodes that started at a random age are not counted.
  virtual EpisodeSums take_episode_sums() = 0;
  virtual void visit_state(StateVisitor& visitor) = 0;
};

}  // namespace drl
