// Ranges, units and conditions, which may follow the help text of an option of drl or of a task's parameter.
#pragma once

#include <cstdint>
#include <limits>

namespace drl {

// The values that a number (or each element of a list) may take. NaN and infinity are never allowed. Every number needs
// a Range.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_out = false;   // low itself is not allowed
  bool high_is_out = false;  // high itself is not allowed

  constexpr bool contains(double value) const {
    return (low_is_out ? value > low : value >= low) && (high_is_out ? value < high : value <= high);
  }
};
constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range at_most(double high) { return {.high = high}; }
constexpr Range above(double low) { return {.low = low, .low_is_out = true}; }
constexpr Range below(double high) { return {.high = high, .high_is_out = true}; }
constexpr Range between(double low, double high) { return {.low = low, .high = high}; }
constexpr Range any_number() { return {}; }
// Combines two ranges: above(0) && at_most(1). The left one sets the lower end, the right one the upper end.
constexpr Range operator&&(const Range& low, const Range& high) {
  return {low.low, high.high, low.low_is_out, high.high_is_out};
}

// The unit of a number, shown in the help: unit("s").
struct Unit {
  const char* text;
};
constexpr Unit unit(const char* text) { return {text}; }

// The names of an option's values 0, 1, ...: v("shape", shape, "help", named_values(kShapes)) for an int32_t.
struct NamedValues {
  const char* const* names;
  int count;
};
template <int N>
constexpr NamedValues named_values(const char* const (&names)[N]) {
  return {names, N};
}

// The condition without which an option has no effect, or the limit that another option sets. `other` is an option of
// the same section, or of none; drl's own options may also name a Circumstance of the program.
enum class Relation : int32_t {
  equals,   // it has an effect only while `other` has one of these values: "rough|stairs"
  differs,  // it has an effect only while `other` has none of these values
  below,    // its value must be below that of `other`
  at_most,  // its value must be at most that of `other`
};
struct ParamCondition {
  const char *other, *value;
  Relation relation;
};
constexpr ParamCondition only_with(const char* other, const char* value = "true") {
  return {other, value, Relation::equals};
}
constexpr ParamCondition not_with(const char* other, const char* value) { return {other, value, Relation::differs}; }
constexpr ParamCondition below_option(const char* other) { return {other, "", Relation::below}; }
constexpr ParamCondition at_most_option(const char* other) { return {other, "", Relation::at_most}; }

// The saved state of environments fits only runs with the same value (of a path: the same content of the file): others
// begin new episodes when they load it. FileName parameters always have this attribute.
struct ChangesEnvState {
  bool value = true;
};
inline constexpr ChangesEnvState changes_env_state{};

// A parameter of a task that is a file: v("motion", motion, "help"). drl makes the path absolute; "" means that none
// was given.
struct FileName {
  static constexpr int kSize = 1024;  // bytes, with a terminating 0
  char path[kSize] = {};
};

}  // namespace drl
