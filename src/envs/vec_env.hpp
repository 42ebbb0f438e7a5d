// The interface of N environments of a task that are stepped together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/queue.hpp"
#include "device/state.hpp"
#include "drl/canvas.hpp"
#include "drl/task/spec.hpp"
#include "drl/task/step_row.hpp"

namespace drl {

// Sums over the episodes that ended since the sums were last taken. Returns are undiscounted, rewards unscaled.
struct EpisodeSums {
  double count = 0, reward = 0, length = 0;
  std::vector<double> terms;    // [reward_terms], the sum of each term over those episodes
  std::vector<double> metrics;  // [metrics], the sum of the episodes' means
  std::vector<double> ends;     // [ends], how many ended by each cause; an episode may have several
  double lost = 0;              // lost environments, with values that are not finite; not counted in the other sums
};

// Returns how many numbers EpisodeSums has for this task.
inline size_t episode_columns(const TaskSpec& spec) {
  return 3 + spec.reward_terms.size() + spec.metrics.size() + spec.ends.size() + 1;
}
inline EpisodeSums read_episodes(const double* in, const TaskSpec& spec) {
  const double *terms = in + 3, *metrics = terms + spec.reward_terms.size(), *ends = metrics + spec.metrics.size(),
               *lost = ends + spec.ends.size();
  return {in[0], in[1], in[2], {terms, metrics}, {metrics, ends}, {ends, lost}, *lost};
}

class VecEnv {
 public:
  static constexpr int64_t kRangeUnit = 16;  // ranges that are stepped at the same time begin at multiples of it
  virtual ~VecEnv() = default;
  virtual const TaskSpec& spec() const = 0;
  virtual int64_t num_envs() const = 0;
  // Enqueues a reset of all environments. It writes only next_obs and next_critic_obs.
  virtual void reset(Queue& queue, const StepRow& row, const Start& start) = 0;
  // Enqueues a step of the environments [begin, begin + count). Environments whose episode ends are reset at once.
  // Disjoint ranges may be stepped at the same time if they begin at multiples of kRangeUnit. `step` counts from 0 over
  // the environments' lifetime, not over an episode, and keys their random numbers.
  virtual void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) = 0;
  // Returns whether the host steps the environments while the queue is a GPU's. Then announce_step() starts to fetch
  // the actions and step() waits for them. Work that is enqueued between the two, such as computing the actions of
  // another range, runs while this range is stepped. Such steps cannot be recorded in a graph.
  virtual bool steps_on_host() const { return false; }
  // Returns a text for users: how fast the host has stepped so far, without and with waiting for actions, and whether
  // the environments or the GPU are the bottleneck. "" unless steps_on_host().
  virtual std::string host_speeds() const { return ""; }
  virtual void announce_step(Queue&, LifetimeStep, int64_t /*begin*/, int64_t /*count*/, const StepRow&) {}
  // Enqueues writing the sums over the episodes that ended since the last call to out [episode_columns(spec())], in the
  // order of EpisodeSums' members, and clears them. Episodes that started at a random age, and those that Start
  // excludes, are not counted. `scratch` has sum_scratch(queue, episode_columns(spec())) elements.
  virtual void take_episode_sums(Queue& queue, double* out, double* scratch) = 0;
  // Returns the actions [num_envs, spec().action.numbers()] that the task received in the last step, before its scale
  // and offset. `row` was the argument of that step, and the numbers are valid until the next.
  virtual const void* received_actions(const StepRow& row) const { return row.action; }
  // Draws the current state of environment `env`. Requires a host's queue. Throws UsageError if the task has no draw().
  virtual void draw(int64_t /*env*/, const CanvasCalls&) {}
  virtual void visit_state(StateVisitor& visitor) = 0;
  // From the next step on, the task receives these values of its options (EnvSetup::params of the same task), such as
  // another command. What the environments have built from the values before, such as the ground, does not change.
  virtual void set_params(const std::vector<std::byte>& /*params*/) {}
  // Returns the names and hashes of the files that the environments have read, such as "ant.xml (3fa2c1d09b7e)", or "".
  // They must be the same on all ranks.
  virtual std::string files() const { return ""; }
  // Visits the state that is replicated on all ranks and survives a reset of all environments: a task's curriculum.
  virtual void visit_shared_state(StateVisitor&) {}
  // Updates the task's curriculum after an iteration with `steps` steps of each environment. `episodes` must be the
  // same on all ranks. Writes the new numbers to `curriculum`. Waits for the queue.
  virtual void iteration_ended(Queue&, int64_t /*iteration*/, int64_t /*steps*/, const EpisodeSums&,
                               std::vector<float>& /*curriculum*/) {}
};

}  // namespace drl
