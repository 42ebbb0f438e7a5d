// Delays the actions and observations of environments of any task, and adds errors of sensors to the observations
// (--env.delay, --env.sensor_error).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "device/array.hpp"
#include "drl/task/spec.hpp"
#include "envs/delay_kernels.hpp"
#include "envs/wrapped_envs.hpp"

namespace drl {

struct EnvConfig;  // envs/task_envs.hpp

struct DelayRange {
  int32_t low = 0, high = 0;  // steps; an episode draws a number from low to high
  float hold = 0;             // the probability that a step repeats what the previous one showed
  bool any() const { return high > 0 || hold > 0; }
};
struct DelayPlan {
  DelayRange action, observation;
  std::vector<float> error_bounds;  // the range of each observed number's error, [numbers, 2]; or nothing

  bool delays() const { return action.any() || observation.any(); }
  bool any() const { return delays() || !error_bounds.empty(); }
  TaskSpec spec(TaskSpec task) const { return task; }
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> envs, const EnvConfig& config, Queue& queue) const;
};

// The options env.delay.* and env.sensor_error.
struct DelayOptions {
  std::string action = "0", observation = "0", sensor_error = "none";
  double action_hold = 0, observation_hold = 0;

  void describe(OptionVisitor& v);
  // Throws UsageError if a range is malformed, a delay reaches the task's step limit, or a name of --env.sensor_error
  // is none of its observations.
  using Plan = DelayPlan;
  Plan plan(const TaskSpec& task) const;
};

// Wraps environments. A delay of k steps shows at step t of an episode what the environment (or the policy) gave at
// step t - k, and until step k what it gave first. The critic's own observations, rewards and ends are not delayed.
class DelayedEnvs final : public WrappedEnvs {
 public:
  // `config` is that of the environments. `queue` must outlive this object.
  DelayedEnvs(std::unique_ptr<VecEnv> envs, const DelayPlan& plan, const EnvConfig& config, Queue& queue);

  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void visit_state(StateVisitor& visitor) override;
  const void* received_actions(const StepRow& row) const override {
    StepRow passed = row;
    if (!delivered_.empty()) passed.action = delivered_.data();
    return wrapped().received_actions(passed);
  }

 private:
  // The memory of a DelayLine.
  struct Line {
    Line(const DelayRange& range, int64_t width, int64_t num_envs, Queue& queue);
    DelayLine view();
    void visit_state(StateVisitor& visitor, const std::string& name, bool is_discrete, Queue& queue);

    DelayRange range;
    int64_t width, num_envs;
    Array<int32_t> delay;
    Array<float> values, shown;
  };
  Delays delays();
  // Returns the row that the wrapped environments read and write.
  StepRow inner(StepRow row);

  Queue& queue_;
  const uint64_t seed_;
  const int64_t first_global_index_;
  Line action_, observation_;
  Array<int32_t> age_;
  Array<float> delivered_, raw_, error_bounds_, errors_;
  std::vector<int64_t> announced_;  // first environments of the ranges whose actions were passed on
};

}  // namespace drl
