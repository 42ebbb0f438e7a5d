#include "run/policy_match.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr size_t kMostNamed = 3;

// Returns the name that policy_spec() gives to number `k` of a task without names.
std::string made_up_name(const std::string& what, size_t k) {
  return fmt::format("{}[{}]", what == "observation" ? "obs" : what, k);
}

// NaN and this unit stand for what the checkpoint does not record.
constexpr const char* kUnknownUnit = "?";

bool is_same_unit(const std::string& a, const std::string& b) {
  return a == b || a == kUnknownUnit || b == kUnknownUnit;
}
bool equals(double a, double b) {
  return std::isnan(a) || std::isnan(b) || std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

bool is_same(const NamedNumber& a, const NamedNumber& b) {
  return a.name == b.name && is_same_unit(a.unit, b.unit) && a.steps_before == b.steps_before &&
         equals(a.scale, b.scale) && equals(a.offset, b.offset);
}

// "joint_pos[0] in rad, 2 steps ago". The scale is given only if it differs.
std::string text_of(const NamedNumber& number, const NamedNumber& other) {
  std::string text = printable(number.name);
  if (!number.unit.empty() && number.unit != kUnknownUnit) text += " in " + printable(number.unit);
  if (number.steps_before > 0) text += fmt::format(" {} ago", counted(number.steps_before, "step"));
  if (number.name == other.name && !equals(number.scale, other.scale)) text += fmt::format(" times {}", number.scale);
  if (number.name == other.name && !equals(number.offset, other.offset)) text += fmt::format(" from {}", number.offset);
  return text;
}

// Returns the numbers of this kind that the checkpoint's group policy/ lists.
std::vector<NamedNumber> recorded_numbers(const Checkpoint& checkpoint, const std::string& what) {
  const auto lines = [&](const std::string& key) {
    const std::string text = text_or_empty(checkpoint, "policy/" + what + "_" + key);
    return text.empty() ? std::vector<std::string>() : split(text, '\n');
  };
  std::vector<NamedNumber> list;
  for (const std::string& name : lines("names"))
    list.push_back({.name = name, .unit = kUnknownUnit, .scale = NAN, .offset = NAN});
  if (const std::vector<std::string> units = lines("units"); units.size() == list.size())
    for (size_t k = 0; k < list.size(); ++k) list[k].unit = units[k];
  const auto read = [&]<class T>(const std::string& array, auto NamedNumber::*member, T) {
    const Tensor* tensor = checkpoint.find("policy/" + what + "/" + array);
    if (!tensor || tensor->data.size() != list.size() * sizeof(T)) return;
    const std::vector<T> values = numbers<T>(tensor->data);
    for (size_t k = 0; k < list.size(); ++k) list[k].*member = values[k];
  };
  read("steps_before", &NamedNumber::steps_before, int32_t{});
  read("unit_scale", &NamedNumber::scale, double{});
  read("unit_offset", &NamedNumber::offset, double{});
  return list;
}

// Adds the differences of one kind of numbers.
void add_differences(const std::string& what, std::span<const NamedNumber> in_training,
                     std::span<const NamedNumber> here, std::vector<std::string>& differences) {
  if (in_training.empty()) return;
  if (in_training.size() != here.size())
    return differences.push_back(
        fmt::format("{} in training and {} here", counted(std::ssize(in_training), what), here.size()));
  size_t count = 0;
  for (size_t k = 0; k < here.size(); ++k) {
    const NamedNumber &a = in_training[k], &b = here[k];
    const std::string unnamed = made_up_name(what, k);
    if (is_same(a, b) || a.name == unnamed || b.name == unnamed) continue;
    if (++count <= kMostNamed)
      differences.push_back(fmt::format("{} {} is {} in training and {} here", what, k, text_of(a, b), text_of(b, a)));
  }
  if (count > kMostNamed) differences.back() += fmt::format(", and {} more differ", count - kMostNamed);
}

}  // namespace

std::string policy_differences(std::span<const NamedNumber> observations, std::span<const NamedNumber> actions,
                               const PolicySpec& here) {
  std::vector<std::string> differences;
  add_differences("observation", observations, here.observations, differences);
  add_differences("action", actions, here.actions, differences);
  return join(differences, "; ");
}

void require_policy_of_task(const Checkpoint& checkpoint, const std::string& file, const PolicySpec& policy) {
  const std::string differences =
      policy_differences(recorded_numbers(checkpoint, "observation"), recorded_numbers(checkpoint, "action"), policy);
  if (!differences.empty())
    throw UsageError(fmt::format(
        "the policy of {} does not fit {} ({}): give a policy that was trained with these observations and actions, or "
        "use the task as it was in training",
        file, policy.task, differences));
}

std::string described_policy(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.attributes.find("iteration");
  const auto* iteration = found == checkpoint.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return name + (iteration ? fmt::format(", iteration {}", *iteration) : "") + " of " +
         printable(text_or_empty(checkpoint, "task"));
}

void warn_of_task_options(const Checkpoint& checkpoint, const std::string& file, const OptionTable& table,
                          const TrainOptions& now, const TaskParams& params) {
  if (attribute<std::string>(checkpoint, file, "task") != now.task) return;
  std::vector<std::string> changes;
  for (const OptionDifference& difference :
       differences(table, attribute<std::string>(checkpoint, file, "options"), file))
    if (params.is_param(difference.name))
      changes.push_back(fmt::format("--{} was {} and is {} here", difference.name, difference.other, difference.value));
  if (changes.empty()) return;
  const size_t more = changes.size() > kMostNamed ? changes.size() - kMostNamed : 0;
  changes.resize(changes.size() - more);
  log::warn("the policy of {} was trained with other options of {} ({}{})", file, now.task, join(changes, "; "),
            more ? fmt::format(", and {} more differ", more) : "");
}

}  // namespace drl
