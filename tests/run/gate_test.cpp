#include "run/gate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace drl {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

TaskSpec task_with(const std::vector<GateBound>& gate) {
  TaskSpec task;
  task.name = "Walk", task.step_limit = 1000, task.metrics = {"settled", "settled_error"};
  task.gate = gate, task.gate_options = "noise = 0\npush = 0\n";
  return task;
}
Evaluation played(double settled, double settled_error, std::vector<int64_t> lengths) {
  Evaluation evaluation;
  evaluation.metrics = {settled, settled_error}, evaluation.lengths = std::move(lengths);
  evaluation.returns = {10, 20, 30};
  return evaluation;
}
bool passes(const GateBound& bound, const Evaluation& evaluation) {
  return judge(task_with({bound}), evaluation).passed;
}

// The error was counted in half of the steps, and its mean over all is 0.06: 0.12 over that half.
TEST(Gate, ComparesAMetricDuringTheStepsWhereItCounts) {
  const Evaluation evaluation = played(0.5, 0.06, {1000});
  EXPECT_TRUE(passes({"settled_error", 0, 0.1201, "m/s", "settled"}, evaluation));
  EXPECT_FALSE(passes({"settled_error", 0, 0.1199, "m/s", "settled"}, evaluation));
  EXPECT_TRUE(passes({"settled_error", 0, 0.0601, "m/s"}, evaluation));
}
TEST(Gate, ComparesTheMeanReturn) {
  EXPECT_TRUE(passes({"return", 20, kNone}, played(1, 0, {1000})));
  EXPECT_FALSE(passes({"return", 20.1, kNone}, played(1, 0, {1000})));
}
// A lost environment counts as an episode that ended early.
TEST(Gate, CountsEpisodesThatEndBeforeTheStepLimit) {
  Evaluation evaluation = played(1, 0, {1000, 1000, 999, 1000});
  EXPECT_TRUE(passes({"early_ends", 0, 0.25}, evaluation));
  evaluation.lost = 1;  // two of five
  EXPECT_FALSE(passes({"early_ends", 0, 0.39}, evaluation));
  EXPECT_TRUE(passes({"early_ends", 0, 0.4}, evaluation));
}
TEST(Gate, IsNotPassedIfABoundIsMissedOrAValueIsNotANumber) {
  const std::vector<GateBound> both = {{"return", 0, kNone}, {"settled_error", 0, 0.1}};
  EXPECT_TRUE(judge(task_with(both), played(1, 0.1, {1000})).passed);
  EXPECT_FALSE(judge(task_with(both), played(1, 0.2, {1000})).passed);
  EXPECT_FALSE(judge(task_with(both), played(1, std::nan(""), {1000})).passed);
}
TEST(Gate, IsPlayedWithOptionsOfTheTask) {
  const std::vector<NamedValue> options = gate_options(task_with({}));
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(options[0].name, "env.noise");
  EXPECT_EQ(options[1].value, "0");
  EXPECT_THROW(require_gate(task_with({})), UsageError);
}

}  // namespace
}  // namespace drl
