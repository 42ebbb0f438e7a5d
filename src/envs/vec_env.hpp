// N copies of a task, stepped at once. A CPU or CUDA executor of our tasks, MuJoCo, or a user's own simulator implement
// this contract directly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "device/queue.hpp"
#include "drl/task_spec.hpp"
#include "envs/step_row.hpp"

namespace drl {

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
  // Enqueues a new start of every environment, which writes next_obs (and next_critic_obs) only.
  virtual void reset(Queue& queue, const StepRow& row) = 0;
  // Enqueues a step of the environments [begin, begin + count); one whose episode ended is reset at once. Disjoint
  // ranges may be stepped at the same time. `step` is a step of the environments' lifetime (from 0, never the
  // episode's): it keys their random numbers.
  virtual void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) = 0;
  // Episodes that started at a random age are not counted.
  virtual EpisodeSums take_episode_sums() = 0;
  virtual void visit_state(StateVisitor& visitor) = 0;
};

}  // namespace drl
