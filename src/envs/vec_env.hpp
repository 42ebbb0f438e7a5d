// N copies of a task, stepped at once. A CPU or CUDA executor of our tasks, MuJoCo, or a user's own simulator implement
// this contract directly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/queue.hpp"
#include "device/state.hpp"
#include "drl/canvas.hpp"
#include "drl/step_row.hpp"
#include "drl/task_spec.hpp"

namespace drl {

// Sums over the episodes that ended since they were last taken. Undiscounted returns of unscaled rewards.
struct EpisodeSums {
  double count = 0, reward = 0, length = 0;
  std::vector<double> terms;    // [reward_terms], the sum of each term over those episodes
  std::vector<double> metrics;  // [metrics], the sum of the episodes' means
  std::vector<double> ends;     // [ends], how many ended by each cause; by several, if they came together
  double lost = 0;              // environments that were not finite any more; these episodes are in nothing above
};

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
  static constexpr int64_t kRangeUnit = 16;
  virtual ~VecEnv() = default;
  virtual const TaskSpec& spec() const = 0;
  virtual int64_t num_envs() const = 0;
  // Enqueues a new start of every environment, which writes next_obs (and next_critic_obs) only.
  virtual void reset(Queue& queue, const StepRow& row, const Start& start) = 0;
  // Enqueues a step of the environments [begin, begin + count); one whose episode ended is reset at once. Disjoint
  // ranges may be stepped at the same time, if they begin at multiples of kRangeUnit. `step` is a step of the
  // environments' lifetime (from 0, never the episode's): it keys their random numbers.
  virtual void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) = 0;
  // Whether the host steps them beside a GPU's queue. Then step() waits for the actions, which announce_step() fetches:
  // what is enqueued between the two, another range's actions, is done while this range is stepped. Nothing of such
  // environments can be recorded.
  virtual bool steps_on_host() const { return false; }
  // How fast it was so far, without and with waiting for actions, and which of both limits: "" of others.
  virtual std::string host_speeds() const { return ""; }
  virtual void announce_step(Queue&, LifetimeStep, int64_t /*begin*/, int64_t /*count*/, const StepRow&) {}
  // Enqueues the sums over the episodes that ended since they were last taken, as EpisodeSums' members in their order,
  // into out [episode_columns(spec())]. Episodes that started at a random age, and those that Start leaves out, are not
  // counted. `scratch` holds sum_scratch of so many columns.
  virtual void take_episode_sums(Queue& queue, double* out, double* scratch) = 0;
  // Shows what environment `env` looks like now; on a host's queue. Throws UsageError if the task does not draw.
  virtual void draw(int64_t /*env*/, const CanvasCalls&) {}
  virtual void visit_state(StateVisitor& visitor) = 0;
  // What they have read, with a hash, as "ant.xml (3fa2c1d09b7e)": all ranks must have read the same. "" if nothing.
  virtual std::string files() const { return ""; }
  // State that all ranks share, and that outlives a new start of all environments: a task's curriculum.
  virtual void visit_shared_state(StateVisitor&) {}
  // An iteration, of which all ranks give the same sums, is over: the task goes on with its curriculum, whose numbers
  // are written to `curriculum`. Waits for the queue.
  virtual void iteration_ended(Queue&, int64_t /*iteration*/, const EpisodeSums&, std::vector<float>& /*curriculum*/) {}
};

}  // namespace drl
