// Small text functions: names that nearly match, numbers for people.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

// The candidate that `name` was probably meant to be, "" when none is near. Near: at most a third of the letters (of
// the longer of the two, at least one) were inserted, left out, changed or swapped with a neighbour, counted as the
// restricted Damerau-Levenshtein distance; the case of letters does not count. The first of equally near ones wins.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// Three significant digits and a decimal prefix: 1234567 is "1.23 M", 512 is "512", 0.25 is "0.25".
std::string human_count(double count);

// As human_count, with binary prefixes: 1536 is "1.50 KiB", 100 is "100 B".
std::string human_bytes(double bytes);

// Hours, minutes and seconds, rounded to the second: 83 is "0:01:23". "?" when negative or not finite (an unknown
// rest).
std::string human_duration(double seconds);

// "1 rank", "4 ranks".
std::string counted(int64_t number, const std::string& thing);

// "a, b, c" from {a, b, c} and ", ".
std::string join(const std::vector<std::string>& parts, std::string_view separator);

bool contains(const std::vector<std::string>& all, std::string_view one);

// The parts between separators, empty ones included: "a,,b" has three; "" has one, empty.
std::vector<std::string> split(std::string_view text, char separator);

// A view of `text` without white space (blank, tab, line end) at its ends.
std::string_view trim(std::string_view text);

// A command as it may be typed into a shell: words are quoted where that is needed.
std::string shell_line(const std::vector<std::string>& words);

// `text` as it may stand within one line of a message: control characters, and bytes that are no UTF-8, as \x0a, and no
// more than `limit` bytes of it, followed by "..." when cut (never inside a character).
std::string printable(std::string_view text, size_t limit = 80);
// The same; of nothing, a pair of quotes.
std::string shown(std::string_view text);

// The number that all of `text` is, in decimal digits; nullopt if it is something else, or does not fit.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace drl
