#include "envs/model_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "drl/physics/model_quantities.hpp"
#include "envs/delayed_envs.hpp"

namespace drl {
namespace {

constexpr const char *kNone = "none", *kRoots = "roots";

// A range of the elements whose name matches a pattern.
struct Entry {
  std::string pattern = "*";
  std::vector<double> numbers;  // 1 or 2
};

// Returns whether `text` has the form of `pattern`, in which * stands for any letters.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

std::optional<double> number_in(const std::string& text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(x)) return std::nullopt;
  return x;
}

// Returns the words of a text, which spaces, commas or semicolons separate.
std::vector<std::string> names_in(std::string text) {
  for (char& c : text)
    if (c == ',' || c == ';') c = ' ';
  std::vector<std::string> names = split(text, ' ');
  std::erase(names, "");
  return names;
}

// Reads "0.8,1.2 trunk=0.9,1.1": first the range of all elements, if it is given, then those of some. Throws
// UsageError, which begins with the option.
std::vector<Entry> entries_of(const std::string& option, const std::string& text) {
  const auto fail = [&](const std::string& why) {
    throw UsageError(
        fmt::format("{} {} ({}): give LOW,HIGH, or NAME=LOW,HIGH for some elements", option, shown(text), why));
  };
  std::vector<Entry> entries;
  for (std::string word : names_in(text)) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      entries.push_back({.pattern = word.substr(0, equals), .numbers = {}});
      word = word.substr(equals + 1);
      if (entries.back().pattern.empty()) fail("a name is missing before =");
    } else if (entries.empty()) {
      entries.emplace_back();
    } else if (entries.back().numbers.size() == 2) {
      fail(fmt::format("{} follows {},{}, and a range has two numbers", shown(word), entries.back().numbers[0],
                       entries.back().numbers[1]));
    }
    const std::optional<double> x = number_in(word);
    if (!x) fail(shown(word) + " is not a number");
    entries.back().numbers.push_back(*x);
  }
  if (entries.empty()) fail("it has no range");
  for (Entry& entry : entries) {
    if (entry.numbers.size() == 1) entry.numbers.push_back(entry.numbers[0]);
    if (entry.numbers[0] > entry.numbers[1])
      fail(fmt::format("{} is greater than {}", entry.numbers[0], entry.numbers[1]));
  }
  return entries;
}

// Returns the names in the value of an option. Throws UsageError if there is none.
std::vector<std::string> names_of(const std::string& option, const std::string& text) {
  std::vector<std::string> names = names_in(text);
  if (names.empty())
    throw UsageError("--env.dr." + option + " " + shown(text) + " (it has no name): give NAME ..., or leave it out");
  return names;
}

int32_t whole(const std::string& option, const std::string& text, double x) {
  if (x < 0 || x != std::floor(x) || x > 10000)
    throw UsageError(fmt::format("{} {} (a delay is a whole number of steps): give LOW,HIGH", option, shown(text)));
  return static_cast<int32_t>(x);
}
DelayRange delay_of(const std::string& name, const std::string& text, double hold, int step_limit) {
  const std::string option = "--env.delay." + name;
  const std::vector<Entry> entries = entries_of(option, text);
  if (entries.size() > 1 || entries[0].pattern != "*")
    throw UsageError(fmt::format("{} {} (it is one delay for all numbers): give LOW,HIGH", option, shown(text)));
  const DelayRange range{whole(option, text, entries[0].numbers[0]), whole(option, text, entries[0].numbers[1]),
                         static_cast<float>(hold)};
  if (step_limit > 0 && range.high >= step_limit)
    throw UsageError(
        fmt::format("{} {} (an episode has {} steps): give a shorter delay", option, shown(text), step_limit));
  return range;
}

// Returns DelayPlan::error_bounds.
std::vector<float> error_bounds(const std::string& sensor_error, const std::vector<NamedNumber>& observations) {
  if (sensor_error == kNone) return {};
  std::vector<float> bounds(2 * observations.size());
  for (const Entry& entry : entries_of("--env.sensor_error", sensor_error)) {
    std::vector<std::string> names;
    bool is_set = false;
    for (size_t k = 0; k < observations.size(); ++k) {
      // "joint_pos" means all of joint_pos[0], joint_pos[1], ...
      names.push_back(observations[k].name.substr(0, observations[k].name.find_first_of("[ ")));
      if (!matches(entry.pattern, names.back()) && entry.pattern != observations[k].name) continue;
      bounds[2 * k] = static_cast<float>(entry.numbers[0]), bounds[2 * k + 1] = static_cast<float>(entry.numbers[1]);
      is_set = true;
    }
    if (is_set) continue;
    if (names.empty())
      throw UsageError("--env.sensor_error has no effect (the task does not name its observations): leave it out");
    const std::string near = nearest(entry.pattern, names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    throw UsageError(fmt::format(
        "--env.sensor_error {} (no observation is called {}): {}", shown(sensor_error), shown(entry.pattern),
        near.empty() ? "the observations are " + join(names, ", ") : "did you mean " + near + "?"));
  }
  return bounds;
}

}  // namespace

ModelOptions::ModelOptions() : values_(std::size(kModelQuantities), kNone) {}

void ModelOptions::describe(OptionVisitor& v) {
  v("dr.when", when_, "when an environment draws these numbers: at each reset, or once in its lifetime",
    one_of({"reset", "lifetime"}), only_with("randomised", "yes"), changes_env_state);
  for (size_t k = 0; k < values_.size(); ++k) {
    const ModelQuantity& quantity = kModelQuantities[k];
    const bool has_axes = quantity.number < 0 && quantity.kind != ModelParameter::gravity;
    v(std::string("dr.") + quantity.name, values_[k],
      std::string(quantity.help) + ": LOW,HIGH, or NAME=LOW,HIGH " + (has_axes ? "or NAME.x=LOW,HIGH ..." : "..."),
      unit(quantity.unit), changes_env_state, always);
  }
  v("dr.push_body", push_body_, "the bodies that are pushed: NAME ..., or roots (of each tree that moves)",
    changes_env_state, always);
  v("dr.motor_network", network_, "file (.npz) of a network that gives the torques of position controllers", as_path,
    changes_env_state, always);
  v("dr.motor_network_of", network_of_, "the actuators that it drives: NAME ...; a name may contain *",
    not_with("dr.motor_network", kNone), changes_env_state);
}

void ModelOptions::make_absolute() {
  if (has_network()) network_ = std::filesystem::absolute(network_).lexically_normal().string();
}

std::string ModelOptions::ranges() const {
  std::string text;
  bool pushes = false;
  std::vector<std::string> pushed =
      push_body_ == kRoots ? std::vector<std::string>{"*"} : names_of("push_body", push_body_);
  // To the model, * alone means the roots.
  if (push_body_ != kRoots) std::ranges::replace(pushed, std::string("*"), std::string("**"));
  for (size_t k = 0; k < values_.size(); ++k) {
    if (values_[k] == kNone) continue;
    const std::string option = std::string("--env.dr.") + kModelQuantities[k].name;
    const bool is_push = std::string_view(kModelQuantities[k].name).starts_with("push_");
    for (const Entry& entry : entries_of(option, values_[k])) {
      const LeastOfRange least = kModelQuantities[k].least;
      const double low = entry.numbers[0];
      if ((least == LeastOfRange::zero && low < 0) || (least == LeastOfRange::above_zero && low <= 0))
        throw UsageError(fmt::format("{} {} ({} is not {} 0): give positive numbers", option, shown(values_[k]), low,
                                     least == LeastOfRange::zero ? "at least" : "above"));
      const bool is_of_pushed = is_push && entry.pattern == "*";
      const std::vector<std::string> names = is_of_pushed ? pushed : std::vector<std::string>{entry.pattern};
      for (const std::string& name : names)
        text += fmt::format("{} {} {} {}\n", kModelQuantities[k].name, name, low, entry.numbers[1]);
      pushes = pushes || is_of_pushed;
    }
  }
  if (push_body_ != kRoots && !pushes)
    throw UsageError(
        "--env.dr.push_body " + shown(push_body_) +
        " has no effect (no push_force or push_torque is for all bodies): give --env.dr.push_force LOW,HIGH, or "
        "leave it out");
  for (const std::string& name : has_network() ? names_of("motor_network_of", network_of_) : std::vector<std::string>())
    text += "motor_network " + name + " 0 0\n";
  return text;
}

void DelayOptions::describe(OptionVisitor& v) {
  v("delay.action", action, "delay of actions: LOW,HIGH, from which each episode draws", unit("steps"),
    changes_env_state, always);
  v("delay.observation", observation, "delay of the actor's observations: LOW,HIGH, from which each episode draws",
    unit("steps"), changes_env_state, always);
  v("sensor_error", sensor_error,
    "constant error of observations in an episode, in their units: NAME=LOW,HIGH ..., such as joint_pos=-0.01,0.01",
    changes_env_state, always);
  v("delay.action_hold", action_hold,
    "probability that a step repeats the previous action, as if the new one were lost", between(0, 1),
    changes_env_state, always);
  v("delay.observation_hold", observation_hold, "probability that a step repeats the actor's previous observation",
    between(0, 1), changes_env_state, always);
}

DelayPlan DelayOptions::plan(const TaskSpec& task) const {
  return {delay_of("action", action, action_hold, task.step_limit),
          delay_of("observation", observation, observation_hold, task.step_limit),
          error_bounds(sensor_error, task.observations)};
}

}  // namespace drl
