// The gate of a task: what a policy must reach to count as good, written down once by the task (GateBound).
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"
#include "run/evaluator.hpp"

namespace drl {

inline constexpr int64_t kGateEpisodes = 64, kGateSeed = 0;  // drl_eval's default

struct GateResult {
  struct Line {
    GateBound bound;
    double value;
    bool passed;
    std::string text;  // "settled_error_xy 0.081 m/s (at most 0.1): passed"
  };
  bool passed = true;
  std::vector<Line> lines;  // one for each bound
  std::string text() const;
};

// Throws UsageError unless the task has a gate.
void require_gate(const TaskSpec& task);
// Returns the options of the task ("env.noise") with which the gate is played.
std::vector<NamedValue> gate_options(const TaskSpec& task);
// Compares an evaluation of kGateEpisodes episodes, one in each environment, with the bounds.
GateResult judge(const TaskSpec& task, const Evaluation& evaluation);

}  // namespace drl
