// Helpers that produce C++ text.
#pragma once

#include <string>
#include <vector>

namespace drl::robot_compiler {

// Returns the shortest text that reads back as this double, always with a decimal point or exponent. Throws Error if x
// is not finite.
std::string number(double x);

// Returns a string literal; control characters are escaped.
std::string quoted(const std::string& text);
// Returns a comment of one line.
std::string remark(const std::string& text);

// Breaks a line at spaces, but not inside a literal.
std::string wrapped(const std::string& text, const std::string& indent);

// listed() joins the texts item(x) of a list's members with commas. table() writes an array declaration with these
// items, or with the item `empty` if the list is empty.
template <class List, class Item>
std::string listed(const List& list, const Item& item) {
  std::string text;
  for (const auto& x : list) text += (text.empty() ? "" : ", ") + item(x);
  return text;
}
std::string listed(const std::vector<double>& list);
template <class List, class Item>
std::string table(const std::string& declaration, const List& list, const std::string& empty, const Item& item) {
  const std::string items = list.empty() ? empty : listed(list, item);
  return declaration + " = {" + items + "};";
}

}  // namespace drl::robot_compiler
