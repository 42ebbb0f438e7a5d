#include "run/gate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/ini.hpp"
#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

double metric(const TaskSpec& task, const Evaluation& evaluation, const std::string& name) {
  const auto found = std::ranges::find(task.metrics, name);
  DRL_CHECK(found != task.metrics.end(), "the gate of task " + task.name + " names the metric " + name +
                                             ", which the task lacks: correct its header");
  return evaluation.metrics[static_cast<size_t>(found - task.metrics.begin())];
}

double value_of(const GateBound& bound, const TaskSpec& task, const Evaluation& evaluation) {
  const std::string quantity = bound.quantity;
  if (quantity == "return") return summarize(evaluation.returns).mean;
  if (quantity == "early_ends") {
    const auto whole = std::ranges::count(evaluation.lengths, int64_t{task.step_limit});
    const auto all = static_cast<double>(evaluation.lengths.size()) + static_cast<double>(evaluation.lost);
    return 1 - static_cast<double>(whole) / all;
  }
  const double mean = metric(task, evaluation, quantity);
  return bound.during ? mean / metric(task, evaluation, bound.during) : mean;
}

std::string bounds_text(const GateBound& bound) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (bound.least == 0 || bound.least == -kNone) return "at most " + human_number(bound.most);
  if (bound.most == kNone) return "at least " + human_number(bound.least);
  return human_number(bound.least) + " to " + human_number(bound.most);
}

}  // namespace

std::string GateResult::text() const {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(line.text);
  return join(texts, ", ");
}

void require_gate(const TaskSpec& task) {
  if (task.gate.empty())
    throw UsageError("task " + task.name +
                     " has no gate (its header does not say what a good policy reaches): leave --gate out");
}

std::vector<NamedValue> gate_options(const TaskSpec& task) {
  std::vector<NamedValue> options;
  for (const IniEntry& entry : parse_ini(task.gate_options, "the gate of task " + task.name))
    options.push_back({"env." + entry.key, entry.value});
  return options;
}

GateResult judge(const TaskSpec& task, const Evaluation& evaluation) {
  GateResult result;
  for (const GateBound& bound : task.gate) {
    const double value = value_of(bound, task, evaluation);
    const bool passed = bound.least <= value && value <= bound.most;  // false for NaN
    const std::string unit = *bound.unit ? std::string(" ") + bound.unit : "";
    result.passed = result.passed && passed;
    const std::string measured = std::isnan(value) ? "not measured" : fmt::format("{:.3g}{}", value, unit);
    result.lines.push_back(
        {bound, value, passed,
         fmt::format("{} {} ({}): {}", bound.quantity, measured, bounds_text(bound), passed ? "passed" : "failed")});
  }
  return result;
}

}  // namespace drl
