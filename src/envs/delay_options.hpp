// The delays of a task's actions and observations, the errors of its sensors, and their options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "drl/task/spec.hpp"

namespace drl {

struct DelayRange {
  int32_t low = 0, high = 0;  // steps; an episode draws a number from low to high
  float hold = 0;             // the probability that a step repeats what the previous one showed
  bool any() const { return high > 0 || hold > 0; }
};
// It is part of TaskParams::bytes(), so it has no padding.
struct DelayPlan {
  DelayRange action, observation;
  int32_t error_bounds = 0;  // the size of TaskParams::error_bounds()
  bool any() const { return action.any() || observation.any() || error_bounds > 0; }
};

// The options env.delay.* and env.sensor_error, of the section "env".
struct DelayOptions {
  std::string action = "0", observation = "0", sensor_error = "none";
  double action_hold = 0, observation_hold = 0;

  void describe(OptionVisitor& v);
  // Throws UsageError if a range is malformed, or reaches a task's step limit (0: none).
  DelayPlan plan(int step_limit) const;
  // Returns the range of each number's error, [numbers, 2], or nothing if no sensor errs. Throws UsageError if the
  // option is malformed, or names none of the observations.
  std::vector<float> error_bounds(const std::vector<NamedNumber>& observations) const;
};

}  // namespace drl
