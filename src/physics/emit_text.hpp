// Helpers that produce C++ text.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
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

// Joins the texts item(x) of a list's members with commas.
template <class List, class Item>
std::string listed(const List& list, const Item& item) {
  std::string text;
  for (const auto& x : list) text += (text.empty() ? "" : ", ") + item(x);
  return text;
}
// Returns a value as C++: a text as it is, a list in braces.
template <class T>
std::string in_cpp(const T& x) {
  if constexpr (std::same_as<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return std::to_string(x);
  } else if constexpr (std::same_as<T, float>) {
    return number(static_cast<double>(x)) + "f";
  } else if constexpr (std::same_as<T, double>) {
    return number(x);
  } else if constexpr (std::convertible_to<T, std::string>) {
    return x;
  } else {
    return "{" + listed(x, [](const auto& each) { return in_cpp(each); }) + "}";
  }
}
// Returns "a, b, c" for several values, and "{a, b, c}".
template <class T, class... More>
std::string joined(const T& first, const More&... more) {
  return (in_cpp(first) + ... + (", " + in_cpp(more)));
}
template <class... Values>
std::string braced(const Values&... values) {
  return "{" + joined(values...) + "}";
}

// Returns the declaration of an array; an empty list becomes the one item `empty`.
template <class List>
std::string array(const std::string& declaration, const List& list, const std::string& empty = "") {
  return declaration + " = " + (list.empty() ? "{" + empty + "}" : in_cpp(list)) + ";";
}

// The definition of a constant. constants() writes several of a type in a line.
struct Constant {
  template <class T>
  Constant(const std::string& name, const T& value) : text(name + " = " + in_cpp(value)) {}
  std::string text;
};
std::string constants(const std::string& type, std::initializer_list<Constant> all);

// A table of struct Sizes that is read at run time; name(k) returns its item k. It is inside a function because GPU
// code cannot read tables outside functions.
class Table {
 public:
  // `comment` may have several lines, or be "". `type` ends with <T> if the type of its numbers is a parameter.
  Table(const std::string& comment, const std::string& type, const std::string& name, const std::string& size);
  // Adds an item of several values; name() writes a comment above it.
  Table& name(const std::string& of_item);
  template <class... Values>
  void add(const Values&... values) {
    items_ += wrapped(braced(values...) + ",", kIndent), size_ += 1;
  }
  // Adds items in as few lines as possible.
  template <class List>
  Table& add_all(const List& list) {
    if (!list.empty()) items_ += wrapped(listed(list, [](const auto& x) { return in_cpp(x); }) + ",", kIndent);
    size_ += static_cast<int>(list.size());
    return *this;
  }
  int size() const { return size_; }
  std::string text() const { return head_ + items_ + kIndent + "{}};\n    return all[k];\n  }\n"; }
  std::string text_unless_empty() const { return size_ > 0 ? text() : ""; }

 private:
  static constexpr const char* kIndent = "        ";
  std::string head_, items_;
  int size_ = 0;
};

// Returns a static function `signature` that chooses a statement by its argument `index`.
std::string choice(const std::string& signature, const std::string& index,
                   const std::vector<std::pair<int, std::string>>& cases, const std::string& otherwise);

}  // namespace drl::robot_compiler
