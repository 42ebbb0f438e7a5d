#include "base/ini.hpp"

#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr std::string_view kEscapes = "\"\\nrt", kEscaped = "\"\\\n\r\t";

bool starts_comment(std::string_view text) { return !text.empty() && (text[0] == '#' || text[0] == ';'); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_comment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (starts_comment(text.substr(i)) && (i == 0 || is_blank(text[i - 1]))) return trim(text.substr(0, i));
  }
  return trim(text);
}

// Removes the quoted text at the start of `text` and returns it; nullopt if it is not closed or has an unknown escape.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string result;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return result;
    }
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const size_t escape = ++i < text.size() ? kEscapes.find(text[i]) : std::string_view::npos;
    if (escape == std::string_view::npos) return std::nullopt;
    result += kEscaped[escape];
  }
  return std::nullopt;
}

// Parses a text line by line.
class IniParser {
 public:
  explicit IniParser(const std::string& file) : file_(file) {}

  void parse_line(std::string_view line) {
    ++line_;
    line = trim(line);
    if (line.empty() || starts_comment(line)) return;
    if (line[0] == '[') {
      parse_section(without_comment(line));
    } else {
      parse_assignment(line);
    }
  }

  std::vector<IniEntry> entries;

 private:
  void parse_section(std::string_view line) {
    if (line.back() != ']') fail(line, "the closing ] is missing", "write [section]");
    section_ = trim(line.substr(1, line.size() - 2));
    if (section_.empty()) fail(line, "the section has no name", "write [section]");
    entries.push_back({line_, section_, "", ""});
  }

  void parse_assignment(std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) fail(line, "it is neither key = value nor [section]", "write key = value");
    const std::string_view key = trim(line.substr(0, equals));
    if (key.empty()) fail(line, "the key before = is missing", "write key = value");
    entries.push_back({line_, section_, std::string(key), parse_value(trim(line.substr(equals + 1)), line)});
  }

  std::string parse_value(std::string_view text, std::string_view line) const {
    if (text.empty() || text[0] != '"') return std::string(without_comment(text));
    const std::optional<std::string> value = take_quoted(text);
    if (!value) {
      fail(line, "the quoted text is not closed or has an unknown escape",
           R"(close it with ", and write \" \\ \n \r \t inside)");
    }
    text = trim(text);
    if (!text.empty() && !starts_comment(text))
      fail(line, "text follows the closing quote", R"(write \" for a quote inside the text)");
    return *value;
  }

  [[noreturn]] void fail(std::string_view line, const std::string& why, const std::string& what) const {
    throw UsageError(fmt::format("{}:{}: cannot parse '{}' ({}): {}", file_, line_, printable(line), why, what));
  }

  const std::string& file_;
  int line_ = 0;
  std::string section_;
};

}  // namespace

std::vector<IniEntry> parse_ini(std::string_view text, const std::string& file) {
  IniParser parser(file);
  for (const std::string& line : split(plain_text(std::string(text), file), '\n')) parser.parse_line(line);
  return std::move(parser.entries);
}

std::string ini_value(std::string_view value) {
  const bool plain = !value.empty() && value == trim(value) && value[0] != '"' &&
                     value.find_first_of("#;\n\r\t") == std::string_view::npos;
  if (plain) return std::string(value);
  std::string quoted = "\"";
  for (char c : value) {
    const size_t escape = kEscaped.find(c);
    if (escape == std::string_view::npos) {
      quoted += c;
    } else {
      quoted += '\\';
      quoted += kEscapes[escape];
    }
  }
  return quoted + '"';
}

}  // namespace drl
