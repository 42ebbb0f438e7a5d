// Small text functions: similar names, and numbers in readable form.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace drl {

// Returns the candidate that the user probably meant by `name`, or "" if none is similar. A candidate is similar if its
// restricted Damerau-Levenshtein distance from `name`, ignoring case, is at most a third of the longer name's length; a
// distance of 1 is always allowed. The first of equally similar candidates wins.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// Formats with three significant digits and a decimal prefix: 1234567 is "1.23 M", 512 is "512", 0.25 is "0.25".
std::string human_count(double count);

// Formats like human_count, with binary prefixes: 1536 is "1.50 KiB", 100 is "100 B".
std::string human_bytes(double bytes);

// Formats hours, minutes and seconds, rounded to the second: 83 is "0:01:23". Returns "?" if the duration is negative
// or not finite.
std::string human_duration(double seconds);

// As the name of an output file, it means standard output.
inline constexpr std::string_view kStandardOutput = "-";

// Breaks a text at spaces into lines of at most `width` characters (unless a word is longer). `indent` begins each line
// after the first, and does not count.
std::string wrap(std::string_view text, size_t width, const std::string& indent);

// Returns the number with its noun: "1 rank", "4 ranks".
std::string counted(int64_t number, const std::string& thing);

std::string with_commas(int64_t number);  // 12345 is "12,345"

// Returns "a, b, c" for {a, b, c} and ", ".
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Returns the texts or, of more than `most`, the first ones and a last one that counts the others: "A 3B".
std::vector<std::string> at_most(size_t most, std::vector<std::string> texts, const std::string& before_number,
                                 const std::string& after_number);

bool contains(const std::vector<std::string>& all, std::string_view one);

// Returns the parts between separators, including empty ones: "a,,b" has three parts, "" has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

// Returns a view of `text` without white space (blank, tab, line end) at its ends.
std::string_view trim(std::string_view text);

// Returns the type's name in C++ without drl's namespaces.
std::string plain_name(const std::type_info& type);

// Returns a command that can be pasted into a shell: words are quoted if necessary.
std::string shell_line(const std::vector<std::string>& words);

// Returns the number of bytes of the first character of `text` (UTF-8, RFC 3629, section 4); 0 if it is not valid.
size_t character_size(std::string_view text);

// Returns `text` in a form that fits into one line of a message: control characters and bytes that are not valid UTF-8
// become escapes such as \x0a. At most `limit` bytes are kept, followed by "..." if the text was cut (never inside a
// character).
std::string printable(std::string_view text, size_t limit = 80);
// Does the same, but returns a pair of quotes for an empty text.
std::string shown(std::string_view text);

// Returns the text of a file that any editor may have written, with "\n" at the ends of lines and without a byte-order
// mark. Throws UsageError, which names the file, for UTF-16. All readers of users' text files call it.
std::string plain_text(std::string text, const std::string& file);

// Returns the content of a file; "" if it cannot be read.
std::string file_text(const std::filesystem::path& file);
// Returns the sorted paths of the entries of a directory. A directory that cannot be read has none.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory);

// Returns the shortest text that reads back as the same number.
template <class Number>
std::string number_text(Number value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// Parses all of `text` as a decimal number. Returns nullopt if it is not a number or does not fit.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace drl
