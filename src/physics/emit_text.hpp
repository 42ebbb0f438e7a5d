// Pieces of C++ text.
#pragma once

#include <string>
#include <vector>

namespace drl::robot_compiler {

// As short as a double can be written that is this number; never an integer. Throws Error for what is not finite.
std::string number(double x);

// As a literal, also of control characters.
std::string quoted(const std::string& text);
// As a comment of one line.
std::string remark(const std::string& text);

// A line, broken at spaces between arguments and operands: not within a literal.
std::string wrapped(const std::string& text, const std::string& indent);

// What item(x) says of each x of a list, between commas; and as the declaration of an array, with what stands for an
// empty one.
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
