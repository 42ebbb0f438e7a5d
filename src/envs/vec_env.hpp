// N copies of a task, stepped at once. A CPU or CUDA executor of our tasks, MuJoCo, or a user's own simulator implement
// this contract directly.
#pragma once

#include <cstdint>
#include <vector>

#include "device/queue.hpp"
#include "device/state.hpp"
#include "drl/task_spec.hpp"
#include "envs/step_row.hpp"

namespace drl {

// Sums over the episodes that ended since they were last taken. Undiscounted returns of unscaled rewards.
struct EpisodeSums {
  double count = 0, reward = 0, length = 0;
  std::vector<double> terms;  // [reward_terms], the sum of each term over those episodes
};

inline size_t episode_columns(const TaskSpec& spec) { return 3 + spec.reward_terms.size(); }
inline EpisodeSums read_episodes(const double* in, size_t terms) {
  return {in[0], in[1], in[2], {in + 3, in + 3 + terms}};
}

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
  // Enqueues the sums over the episodes that ended since they were last taken, as EpisodeSums' members in their order,
  // into out [episode_columns(spec())]. Episodes that started at a random age are not counted. `scratch` holds
  // sum_scratch of so many columns.
  virtual void take_episode_sums(Queue& queue, double* out, double* scratch) = 0;
  virtual void visit_state(StateVisitor& visitor) = 0;
};

}  // namespace drl
