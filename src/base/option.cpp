#include "base/option.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"

namespace drl {
namespace {

// --- Values as text --------------------------------------------------------------------------------------------------

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return number_text(value); }
std::string text_of(int64_t value) { return number_text(value); }
std::string text_of(double value) { return number_text(value); }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const std::optional<double>& value) { return value ? text_of(*value) : "none"; }
std::string text_of(const std::vector<std::string>& values) { return values.empty() ? "none" : join(values, ":"); }
template <class Number>
std::string text_of(const std::vector<Number>& values) {
  std::vector<std::string> texts;
  for (const Number value : values) texts.push_back(text_of(value));
  return values.empty() ? "none" : join(texts, ",");
}

// "0 to 1", "at least 1", "above 0, at most 1"; "" for any_number
std::string text_of(const Range& range) {
  const auto& [low, high, low_is_out, high_is_out] = range;
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high && !low_is_out && !high_is_out) return text_of(low) + " to " + text_of(high);
  std::vector<std::string> ends;
  if (has_low) ends.push_back((low_is_out ? "above " : "at least ") + text_of(low));
  if (has_high) ends.push_back((high_is_out ? "below " : "at most ") + text_of(high));
  return join(ends, ", ");
}

// --- Text to values --------------------------------------------------------------------------------------------------

// Parses the text of one option.
class Reader {
 public:
  Reader(const Option& option, std::string_view text) : option_(option), text_(text) {}

  void read(bool& value) const {
    value = contains({"true", "True", "yes", "on", "1"}, trim(text_));
    if (!value && !contains({"false", "False", "no", "off", "0"}, trim(text_)))
      refuse(text_, "is neither true nor false", "the option is a switch", "give true or false");
  }
  template <class Number>
  void read(Number& value) const {
    read_number(text_, value);
  }
  void read(std::string& value) const {
    const std::vector<std::string>& choices = option_.choices;
    value = as_typed(text_);
    if (choices.empty() || contains(choices, value)) return;
    const std::string near = nearest(value, choices);
    refuse(text_, "is not a valid choice", "choices: " + join(choices, ", "),
           near.empty() ? "give one of these" : "did you mean " + near + "?");
  }
  void read(std::optional<double>& value) const {
    if (trim(text_) != "none") read(value.emplace());
  }
  void read(std::vector<std::string>& values) const {
    if (trim(text_) == "none") return;
    for (const std::string& name : split(text_, ':'))
      if (!name.empty()) values.push_back(as_typed(name));
  }
  template <class Number>
  void read(std::vector<Number>& values) const {
    if (trim(text_) == "none") return;
    for (const std::string& element : elements()) read_number(element, values.emplace_back());
    const auto [numbers, is_range] = option_.length;
    if (is_range && values.size() == 1) values.push_back(values[0]);
    const auto wanted = static_cast<size_t>(numbers);
    if (wanted > 0 && values.size() != wanted)
      refuse(text_, "has " + counted(static_cast<int64_t>(values.size()), "number"),
             "the option takes " + std::to_string(numbers), is_range ? "give LOW,HIGH, or none" : "give all, or none");
    if (is_range && values[0] > values[1])
      refuse(text_, "is not a range", text_of(values[0]) + " is greater than " + text_of(values[1]),
             "give LOW,HIGH, or none");
  }

 private:
  // "1,2,3", "1, 2, 3", "1 2 3" and "[1,2,3]" are the same; "1,,2" has an empty element.
  std::vector<std::string> elements() const {
    std::vector<std::string> result;
    std::string_view list = trim(text_);
    if (list.size() > 1 && list.front() == '[' && list.back() == ']') list = list.substr(1, list.size() - 2);
    for (const std::string& part : split(list, ',')) {
      const bool empty = trim(part).empty();
      for (const std::string& word : split(trim(part), ' '))
        if (empty || !trim(word).empty()) result.emplace_back(trim(word));
    }
    return result;
  }

  std::string as_typed(std::string_view text) const {
    return option_.is_path ? typed_path(option_.name, text) : std::string(text);
  }

  template <class Number>
  void read_number(std::string_view text, Number& value) const {
    constexpr const char* not_a_number = std::is_integral_v<Number> ? "is not a whole number" : "is not a number";
    text = trim(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
      refuse(text, not_a_number, expected(), "give one" + example());
    }
    if (error == std::errc::result_out_of_range) {
      refuse(text, "does not fit", "the option is a " + std::to_string(8 * sizeof(Number)) + "-bit number",
             "give one that fits" + example());
    }
    const auto real = static_cast<double>(value);
    if (!std::isfinite(real)) refuse(text, "is not a finite number", expected(), "give one" + example());
    if (!option_.range.contains(real))
      refuse(text, "is out of range", expected(), "give a value in this range" + example());
  }

  std::string expected() const {
    const std::string range = text_of(option_.range);
    return range.empty() ? "any finite number is allowed" : "allowed: " + range;
  }
  std::string example() const {
    return option_.default_text == "none" ? ", or none" : ", such as " + option_.default_text;
  }

  [[noreturn]] void refuse(std::string_view text, const std::string& problem, const std::string& why,
                           const std::string& what) const {
    const std::string element = trim(text) == trim(text_) ? "" : ": " + shown(text);
    throw UsageError(option_.name + " = " + shown(text_) + element + " " + problem + " (" + why + "): " + what);
  }

  const Option& option_;
  std::string_view text_;
};

template <class T>
T value_from(const Option& option, std::string_view text) {
  T value{};
  Reader(option, text).read(value);
  return value;
}

}  // namespace

std::string Option::value() const {
  return std::visit([](const auto* value) { return text_of(*value); }, target);
}

std::string Option::normalised(std::string_view text) const {
  return std::visit([&](auto* value) { return text_of(value_from<std::decay_t<decltype(*value)>>(*this, text)); },
                    target);
}

std::string Option::limits() const {
  std::vector<std::string> parts = choices;
  if (!unit.empty()) parts.push_back(unit);
  if (const std::string text = text_of(range); !text.empty()) parts.push_back(text);
  return join(parts, ", ");
}

void Option::assign(std::string_view text) const {
  std::visit([&](auto* value) { *value = value_from<std::decay_t<decltype(*value)>>(*this, text); }, target);
}

}  // namespace drl
