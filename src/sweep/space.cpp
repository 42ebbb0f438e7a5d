#include "sweep/space.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/ini.hpp"
#include "base/text.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

// Purposes of random numbers that are no part of a run (Purpose in drl/lanes/philox.hpp).
constexpr Purpose kSample{200}, kPerturb{201};

double random01(uint64_t seed, Purpose purpose, int trial, int generation, size_t dimension) {
  const Words4 bits = random_bits(seed, purpose, static_cast<uint64_t>(trial), static_cast<uint64_t>(generation),
                                  static_cast<uint32_t>(dimension));
  return uniform01(bits[0], bits[1]);
}

Dimension parse_dimension(const IniEntry& entry) {
  Dimension d{.name = entry.section.empty() ? entry.key : entry.section + "." + entry.key, .line = entry.line};
  std::vector<std::string> words = split(entry.value, ' ');
  std::erase(words, "");
  const auto fail = [&](const std::string& why) -> void {
    throw UsageError(
        fmt::format("{} = {} is not a range ({}): write uniform LOW HIGH, log LOW HIGH, int LOW HIGH, or "
                    "choose A B ...",
                    d.name, shown(entry.value), why));
  };
  const std::string kind = words.empty() ? "" : words.front();
  if (!words.empty()) words.erase(words.begin());
  if (kind == "choose") {
    d.scale = Scale::choice;
    if (words.empty()) fail("there is nothing to choose from");
    for (size_t k = 0; k < words.size(); ++k)
      if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(k), words[k]) - words.begin() !=
          static_cast<std::ptrdiff_t>(k))
        fail(words[k] + " is there twice");
    d.choices = words;
    return d;
  }
  if (kind != "uniform" && kind != "log" && kind != "int") fail("its first word is none of these");
  d.scale = kind == "uniform" ? Scale::uniform : kind == "log" ? Scale::log : Scale::integer;
  if (words.size() != 2) fail("it needs two numbers");
  const auto low = number_in<double>(words[0]), high = number_in<double>(words[1]);
  if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high)) fail("it needs two numbers");
  d.low = *low, d.high = *high;
  if (d.low >= d.high) fail("the first number must be lower");
  if (d.scale == Scale::log && d.low <= 0) fail("a logarithmic scale needs positive numbers");
  if (d.scale == Scale::integer && (d.low != std::floor(d.low) || d.high != std::floor(d.high)))
    fail("int needs whole numbers");
  return d;
}

constexpr size_t kMostPoints = 100000;

// Returns the text of a number of the dimension: six significant digits, or a whole number.
std::string value_text(const Dimension& d, double value) {
  value = std::clamp(value, d.low, d.high);
  return d.scale == Scale::integer ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

// Returns the value at `share` of the way from the low end to the high one.
std::string value_at(const Dimension& d, double share) {
  if (d.scale == Scale::log) return value_text(d, d.low * std::pow(d.high / d.low, share));
  return value_text(d, d.low + share * (d.high - d.low));
}

std::vector<std::string> grid_values(const Dimension& d, int points) {
  if (d.scale == Scale::choice) return d.choices;
  if (d.scale == Scale::integer) points = std::min(points, static_cast<int>(std::min(d.high - d.low, 1e6)) + 1);
  std::vector<std::string> values;
  for (int k = 0; k < points; ++k) values.push_back(value_at(d, points == 1 ? 0.5 : 1.0 * k / (points - 1)));
  return values;
}

std::string perturbed_value(const Dimension& d, const std::string& value, double factor, bool up) {
  if (d.scale == Scale::choice) {
    const auto at = std::ranges::find(d.choices, value) - d.choices.begin() + (up ? 1 : -1);
    return d.choices[static_cast<size_t>(std::clamp<std::ptrdiff_t>(at, 0, std::ssize(d.choices) - 1))];
  }
  const double old = number_in<double>(value).value_or(d.low), changed = up ? old * factor : old / factor;
  if (d.scale != Scale::integer) return value_text(d, changed);
  const double step = std::round(changed) - old;  // a whole number changes by 1 at least
  return value_text(d, old + (step != 0 ? step : up ? 1 : -1));
}

}  // namespace

Space parse_space(std::string_view text, const std::string& file) {
  Space space;
  for (const IniEntry& entry : parse_ini(text, file)) {
    if (entry.key.empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw UsageError(fmt::format("{}:{}: {}", file, entry.line, what));
    };
    try {
      space.push_back(parse_dimension(entry));
    } catch (const UsageError& error) {
      fail(error.what());
    }
    for (size_t k = 0; k + 1 < space.size(); ++k)
      if (space[k].name == space.back().name)
        fail(fmt::format("{} is on line {} already: leave one out", space[k].name, space[k].line));
  }
  if (space.empty())
    throw UsageError(file + " names no option (a sweep needs one at least): write for instance seed = choose 0 1 2");
  return space;
}

std::vector<std::string> extremes(const Dimension& d) {
  return d.scale == Scale::choice ? d.choices : std::vector{value_text(d, d.low), value_text(d, d.high)};
}

Values sample(const Space& space, uint64_t seed, int trial) {
  Values point;
  for (size_t k = 0; k < space.size(); ++k) {
    const Dimension& d = space[k];
    const double share = random01(seed, kSample, trial, 0, k);
    if (d.scale == Scale::choice)
      point.push_back(d.choices[static_cast<size_t>(share * static_cast<double>(d.choices.size()))]);
    else if (d.scale == Scale::integer)
      point.push_back(value_text(d, std::floor(d.low + share * (d.high - d.low + 1))));
    else
      point.push_back(value_at(d, share));
  }
  return point;
}

std::vector<Values> grid(const Space& space, int points) {
  std::vector<Values> all = {{}};
  for (const Dimension& d : space) {
    std::vector<Values> longer;
    if (all.size() * grid_values(d, points).size() > kMostPoints)
      throw UsageError(
          fmt::format("the grid has more than {} points: use fewer --grid_points, or --method random", kMostPoints));
    for (const Values& point : all)
      for (const std::string& value : grid_values(d, points)) longer.push_back(point), longer.back().push_back(value);
    all = std::move(longer);
  }
  return all;
}

Values perturbed(const Space& space, const Values& point, double factor, uint64_t seed, int trial, int generation) {
  if (factor == 1) return point;
  Values changed;
  for (size_t k = 0; k < space.size(); ++k)
    changed.push_back(
        perturbed_value(space[k], point[k], factor, random01(seed, kPerturb, trial, generation, k) >= 0.5));
  return changed;
}

}  // namespace drl
