// The delays of a task's actions and observations, and their options.
#pragma once

#include <cstdint>
#include <string>

#include "base/options.hpp"

namespace drl {

struct DelayRange {
  int32_t low = 0, high = 0;  // steps; an episode draws a number from low to high
  float hold = 0;             // the probability that a step repeats what the previous one showed
  bool any() const { return high > 0 || hold > 0; }
};
// It is part of TaskParams::bytes(), so it has no padding.
struct DelayPlan {
  DelayRange action, observation;
  bool any() const { return action.any() || observation.any(); }
};

// The options env.delay.*, of the section "env".
struct DelayOptions {
  std::string action = "0", observation = "0";
  double action_hold = 0, observation_hold = 0;

  void describe(OptionVisitor& v);
  // Throws UsageError if a range is malformed, or reaches a task's step limit (0: none).
  DelayPlan plan(int step_limit) const;
};

}  // namespace drl
