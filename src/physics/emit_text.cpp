#include "physics/emit_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.hpp"

namespace drl::robot_compiler {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }

// Returns the position of the next space outside a literal, or the end.
size_t end_of_word(const std::string& text, size_t from) {
  bool in_literal = false;
  for (size_t k = from; k < text.size(); ++k) {
    if (in_literal && text[k] == '\\')
      k += 1;
    else if (text[k] == '"')
      in_literal = !in_literal;
    else if (text[k] == ' ' && !in_literal)
      return k;
  }
  return text.size();
}

}  // namespace

std::string number(double x) {
  if (!std::isfinite(x))
    throw UsageError(
        "the model's physics has a number that is not finite (a number of the file is too large or too "
        "small): correct the model");
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
  for (const char c : text) {
    char octal[5];  // always three digits, so that a digit after them is not read as part of the code
    std::snprintf(octal, sizeof(octal), "\\%03o", static_cast<unsigned char>(c));
    result += c == '"' || c == '\\' ? std::string("\\") + c : is_control(c) ? octal : std::string(1, c);
  }
  return result + "\"";
}

std::string remark(const std::string& text) {
  std::string result = text;
  std::ranges::replace_if(result, is_control, ' ');
  if (result.ends_with('\\')) result += '.';  // otherwise the next line would belong to the comment
  return "// " + result;
}

std::string wrapped(const std::string& text, const std::string& indent) {
  constexpr size_t kColumns = 120;
  std::string lines, line = indent;
  for (size_t from = 0; from < text.size();) {
    const size_t space = end_of_word(text, from);
    const std::string word = text.substr(from, space - from);
    if (line.size() + word.size() > kColumns && line.find_first_not_of(' ') != std::string::npos) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + "\n", line = indent + "    ";
    }
    line += word + (space < text.size() ? " " : ""), from = space + 1;
  }
  return lines + line + "\n";
}

std::string constants(const std::string& type, std::initializer_list<Constant> all) {
  return wrapped("static constexpr " + type + " " + listed(all, [](const Constant& c) { return c.text; }) + ";", "  ");
}

Table::Table(const std::string& comment, const std::string& type, const std::string& name, const std::string& size) {
  for (size_t at = 0, end = 0; at < comment.size(); at = end + 1) {
    end = std::min(comment.find('\n', at), comment.size());
    head_ += "  // " + comment.substr(at, end - at) + "\n";
  }
  if (type.ends_with("<T>")) head_ += "  template <class T>\n";
  head_ += "  DRL_HD static const " + type + "& " + name + "(int k) {\n    static constexpr " + type + " all[" + size +
           " + 1] = {\n";
}
Table& Table::name(const std::string& of_item) {
  items_ += kIndent + remark(of_item) + "\n";
  return *this;
}

std::string choice(const std::string& signature, const std::string& index,
                   const std::vector<std::pair<int, std::string>>& cases, const std::string& otherwise) {
  std::string text = "  DRL_HD static " + signature + " {\n    switch (" + index + ") {\n";
  for (const auto& [value, statement] : cases) text += "      case " + std::to_string(value) + ": " + statement + ";\n";
  return text + "      default: " + otherwise + ";\n    }\n  }\n";
}

}  // namespace drl::robot_compiler
