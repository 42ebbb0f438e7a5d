#include "physics/emit_text.hpp"

#include <algorithm>
#include <cstdio>

namespace drl::robot_compiler {

std::string number(double x) {
  char text[40];
  for (const int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof(text), "%.*g", digits, x);
    if (std::stod(text) == x) break;
  }
  const std::string shortest = text;
  return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "\"";
}

std::string wrapped(const std::string& text, const std::string& indent) {
  constexpr size_t kColumns = 120;
  std::string lines, line = indent;
  for (size_t from = 0; from < text.size();) {
    const size_t space = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, space - from);
    if (line.size() + word.size() > kColumns && line.find_first_not_of(' ') != std::string::npos) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + "\n", line = indent + "    ";
    }
    line += word + (space < text.size() ? " " : ""), from = space + 1;
  }
  return lines + line + "\n";
}

std::string listed(const std::vector<double>& list) { return listed(list, number); }

}  // namespace drl::robot_compiler
