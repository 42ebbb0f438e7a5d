#include "base/text.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/check.hpp"
#include "base/format.hpp"
#include "drl/task/edit_distance.hpp"

namespace drl {
namespace {

// Returns three significant digits, without an exponent.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

// Returns whole numbers unchanged, others with three significant digits.
std::string plain_number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Divides by `base` until the rounded value is below it. `prefixes[i]` is the prefix of base^i.
std::string human(double value, double base, const std::array<const char*, 5>& prefixes) {
  size_t prefix = 0;
  while (prefix + 1 < prefixes.size() && std::isfinite(value) && std::round(std::fabs(value)) >= base) {
    value /= base;
    ++prefix;
  }
  const std::string number = prefix == 0 ? plain_number(value) : three_digits(value);
  return *prefixes[prefix] == 0 ? number : number + " " + prefixes[prefix];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::string::npos;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(boost::to_lower_copy(std::string(name)), boost::to_lower_copy(candidate));
    const size_t near = std::max<size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance <= near && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string human_count(double count) { return human(count, 1000, {"", "k", "M", "G", "T"}); }

std::string human_bytes(double bytes) { return human(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}); }

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<long long>(std::min(std::round(seconds), 1e15));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string wrap(std::string_view text, size_t width, const std::string& indent) {
  std::string lines;
  size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    const bool fits = column == 0 || column + 1 + word.size() <= width;
    if (!fits) lines += "\n" + indent, column = 0;
    if (column > 0) lines += " ", ++column;
    lines += word, column += word.size();
  }
  return lines;
}

std::string counted(int64_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return boost::join(parts, separator);
}

std::vector<std::string> at_most(size_t most, std::vector<std::string> texts, const std::string& before_number,
                                 const std::string& after_number) {
  if (texts.size() <= most) return texts;
  const size_t left = texts.size() - (most - 1);
  texts.resize(most - 1);
  texts.push_back(before_number + std::to_string(left) + after_number);
  return texts;
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  return boost::split(parts, text, [=](char c) { return c == separator; });
}

std::string plain_text(std::string text, const std::string& file) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw UsageError(file + " is UTF-16 text (as some programs of Windows write it): save it as UTF-8");
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  boost::replace_all(text, "\r\n", "\n");
  boost::replace_all(text, "\r", "\n");
  return text;
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::string plain_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);
  for (size_t at; (at = name.find("drl::")) != std::string::npos;) name.erase(at, 5);
  for (size_t at; (at = name.find("> >")) != std::string::npos;) name.erase(at + 1, 1);
  return name;
}

std::string shell_line(const std::vector<std::string>& words) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("-_./+:,=@%", c); };
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) {
      quoted.push_back(word);
      continue;
    }
    quoted.push_back("'" + boost::replace_all_copy(word, "'", "'\\''") + "'");
  }
  return join(quoted, " ");
}

size_t character_size(std::string_view text) {
  const auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;  // excludes overlong forms
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;   // excludes surrogates and > U+10FFFF
  if (byte(1) < least || byte(1) > most) return 0;
  for (size_t k = 2; k < size; ++k)
    if ((byte(k) & 0xC0) != 0x80) return 0;
  return size;
}

std::string printable(std::string_view text, size_t limit) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text.substr(at));
    if (at + std::max<size_t>(size, 1) > limit) return result + "...";
    const auto code = static_cast<unsigned char>(text[at]);
    const bool is_shown = size > 0 && code >= 0x20 && code != 0x7F;
    result += is_shown ? std::string(text.substr(at, size)) : fmt::format("\\x{:02x}", code);
    at += std::max<size_t>(size, 1);
  }
  return result;
}

std::string shown(std::string_view text) { return text.empty() ? "\"\"" : printable(text); }

}  // namespace drl
