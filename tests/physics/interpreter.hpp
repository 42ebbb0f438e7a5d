// Interprets a header of drl_robot from its text, so that hundreds of robots can be tested without a compiler.
// Statements are executed in their order, in double, and find their variables by name.
#pragma once

#include <cmath>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/math.hpp"

namespace drl::test {

// The location of a variable or an array, possibly of arrays or in a structure: "w.geom_axis[].half[]".
struct Place {
  size_t offset = 0;            // in bytes
  std::vector<size_t> strides;  // of each index, in bytes
  std::vector<int> extents;     // sizes in the header; larger indices are errors
  int gap_from = 0, gap = 0;    // `gap` is added to indices from gap_from on
};
using Places = std::map<std::string, Place>;

// Returns the text between two other texts.
inline std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) throw std::runtime_error("there is no " + before);
  const size_t from = begin + before.size(), end = text.find(after, from);
  return text.substr(from, end - from);
}
inline std::string without_comments(std::string text) {
  for (size_t at; (at = text.find("//")) != std::string::npos;) text.erase(at, text.find('\n', at) - at);
  return text;
}

// A function is straight-line code, so it is a list of instructions on registers.
class InterpretedFunction {
 public:
  InterpretedFunction(const std::string& parameters, const std::string& body, const Places& places) : places_(places) {
    // A parameter's name is its last word, except for the bounds of arrays of arrays: "const F (*wrench)[6]".
    for (size_t from = 0; from < parameters.size();) {
      const size_t end = std::min(parameters.find(',', from), parameters.size());
      std::string name = parameters.substr(from, end - from);
      if (name.find(')') != std::string::npos) name.erase(name.find(')'));
      const size_t space = name.find_last_of(" *&\n");
      names_.push_back(name.substr(space == std::string::npos ? 0 : space + 1));
      from = end + 1;
    }
    text_ = body;
    while (skip(), at_ < text_.size()) statement();
    text_.clear();
  }

  void operator()(const void* const* arguments) const {
    thread_local std::vector<double> r;
    r.resize(static_cast<size_t>(registers_));
    for (const Instruction& i : instructions_) {
      const auto x = [&](int k) { return r[static_cast<size_t>(i.operands[k])]; };
      double& to = r[static_cast<size_t>(i.to)];
      char* const place = static_cast<char*>(const_cast<void*>(arguments[i.argument])) + i.offset;
      double* const number = reinterpret_cast<double*>(place);
      switch (i.code) {
        case kLoad:
          to = *number;
          break;
        case kStore:
          *number = x(0);
          break;
        case kAddTo:
          *number += x(0);
          break;
        case kConstant:
          to = i.value;
          break;
        case kAdd:
          to = x(0) + x(1);
          break;
        case kSubtract:
          to = x(0) - x(1);
          break;
        case kMultiply:
          to = x(0) * x(1);
          break;
        case kDivide:
          to = x(0) / x(1);
          break;
        case kNegate:
          to = -x(0);
          break;
        case kFma:
          to = math::fma(x(0), x(1), x(2));
          break;
        case kSqrt:
          to = math::sqrt(x(0));
          break;
        case kSin:
          to = math::sin(x(0));
          break;
        case kCos:
          to = math::cos(x(0));
          break;
        case kMin:
          to = math::min(x(0), x(1));
          break;
        case kMax:
          to = math::max(x(0), x(1));
          break;
        case kSelect:
          to = x(0) < x(1) ? x(2) : x(3);
          break;
      }
    }
  }

 private:
  enum Code {
    kLoad,
    kStore,
    kAddTo,
    kConstant,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kNegate,
    kFma,
    kSqrt,
    kSin,
    kCos,
    kMin,
    kMax,
    kSelect
  };
  struct Instruction {
    Code code;
    int to = 0, operands[4] = {}, argument = 0;
    size_t offset = 0;
    double value = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + ": " + text_.substr(at_ > 40 ? at_ - 40 : 0, 80));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_ += 1;
  }
  bool take(const std::string& what) {
    skip();
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  void expect(const std::string& what) {
    if (!take(what)) fail("no " + what);
  }
  // Parses a name like "t1", "w.geom_axis[2].half[0]" or "math::fma".
  std::string word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string("_.[]:").find(text_[at_]) != std::string::npos))
      at_ += 1;
    if (at_ == from) fail("no name");
    return text_.substr(from, at_ - from);
  }

  // Parses "const F t1 = ...;", "y[0] = ...;" or "y[0] += ...;".
  void statement() {
    if (take("const F ")) {
      const std::string name = word();
      expect("=");
      const int value = sum();
      if (!values_.emplace(name, value).second) fail(name + " is there already");
    } else {
      Instruction store = place_of(word());
      store.code = take("+=") ? kAddTo : kStore;
      if (store.code == kStore) expect("=");
      store.operands[0] = sum();
      instructions_.push_back(store);
    }
    expect(";");
  }

  int sum() {
    int x = product();
    for (;;) {
      if (take("+"))
        x = make(kAdd, {x, product()});
      else if (take("-"))
        x = make(kSubtract, {x, product()});
      else
        return x;
    }
  }
  int product() {
    int x = factor();
    for (;;) {
      if (take("*"))
        x = make(kMultiply, {x, factor()});
      else if (take("/"))
        x = make(kDivide, {x, factor()});
      else
        return x;
    }
  }
  int factor() {
    if (take("-")) return make(kNegate, {factor()});
    if (take("(")) {
      const int x = sum();
      expect(")");
      return x;
    }
    if (take("math::select(")) {
      const int a = sum();
      expect("<");
      const int b = sum();
      expect(",");
      const int yes = sum();
      expect(",");
      const int no = sum();
      expect(")");
      return make(kSelect, {a, b, yes, no});
    }
    static const std::map<std::string, std::pair<Code, int>> functions = {
        {"math::fma", {kFma, 3}}, {"math::sqrt", {kSqrt, 1}}, {"math::sin", {kSin, 1}},
        {"math::cos", {kCos, 1}}, {"math::min", {kMin, 2}},   {"math::max", {kMax, 2}}};
    const std::string name = word();
    if (!take("(")) return value_of(name);
    if (name == "F") return argument_of_f();
    const auto found = functions.find(name);
    if (found == functions.end()) fail("no function " + name);
    std::vector<int> of = {sum()};
    while (take(",")) of.push_back(sum());
    expect(")");
    if (static_cast<int>(of.size()) != found->second.second) fail("arguments of " + name);
    return make(found->second.first, of);
  }
  // Parses the argument of F(): a number, or an entry of a table.
  int argument_of_f() {
    skip();
    size_t length = 0;
    double value = 0;
    try {
      value = std::stod(text_.substr(at_, 40), &length);
    } catch (const std::invalid_argument&) {
      const int x = value_of(word());
      return expect(")"), x;
    }
    at_ += length;
    expect(")");
    const int x = make(kConstant, {});
    instructions_.back().value = value;
    return x;
  }
  int value_of(const std::string& name) {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    Instruction load = place_of(name);
    load.code = kLoad, load.to = registers_++;
    instructions_.push_back(load);
    return load.to;
  }
  int make(Code code, const std::vector<int>& of) {
    Instruction made{.code = code, .to = registers_++};
    std::copy(of.begin(), of.end(), made.operands);
    instructions_.push_back(made);
    return made.to;
  }
  // Returns the location of a variable like "w.geom_axis[2].half[0]".
  Instruction place_of(const std::string& name) const {
    std::string key;
    std::vector<int> indices;
    for (size_t k = 0; k < name.size(); ++k) {
      key += name[k];
      if (name[k] != '[') continue;
      indices.push_back(std::stoi(name.substr(k + 1)));
      k = name.find(']', k), key += ']';
    }
    const auto found = places_.find(key);
    if (found == places_.end()) fail("no " + key);
    const Place& place = found->second;
    Instruction i{};
    i.offset = place.offset;
    for (size_t k = 0; k < indices.size(); ++k) {
      if (indices[k] < 0 || indices[k] >= place.extents[k]) fail(name + " is beyond its end");
      const int index = indices[k] + (place.gap > 0 && indices[k] >= place.gap_from ? place.gap : 0);
      i.offset += static_cast<size_t>(index) * place.strides[k];
    }
    const std::string argument = name.substr(0, name.find_first_of(".["));
    while (names_[static_cast<size_t>(i.argument)] != argument)
      if (++i.argument == static_cast<int>(names_.size())) fail("no parameter " + argument);
    return i;
  }

  const Places& places_;
  std::vector<std::string> names_;  // of parameters
  std::string text_;                // while it is parsed
  size_t at_ = 0;
  std::map<std::string, int> values_;  // registers, by name
  int registers_ = 0;
  std::vector<Instruction> instructions_;
};

// A header's sizes, tables and functions.
class InterpretedHeader {
 public:
  explicit InterpretedHeader(const std::string& text) : text_(text) {
    for (size_t at; (at = text_.find("wide::")) != std::string::npos;) text_.erase(at, 6);
    const std::string sizes = between(text, "struct Sizes {", "DRL_HD static const int& limited(");
    for (size_t at = 0; (at = sizes.find(" = ", at)) != std::string::npos; ++at) {
      const size_t name = sizes.find_last_of(" ", at - 1) + 1;
      const std::string value = sizes.substr(at + 3, 24);
      sizes_[sizes.substr(name, at - name)] = value.starts_with("true")    ? 1
                                              : value.starts_with("false") ? 0
                                                                           : std::stod(value);
    }
  }
  InterpretedHeader(const InterpretedHeader&) = delete;

  double number(const std::string& name) const { return sizes_.at(name); }
  int size(const std::string& name) const { return static_cast<int>(number(name)); }
  // Some headers lack some sizes.
  int size_or_0(const std::string& name) const { return sizes_.contains(name) ? size(name) : 0; }

  // Returns the rows of a table of the sizes, for example "point".
  std::vector<std::vector<double>> table(const std::string& name) const {
    const std::string text = without_comments(between(text_, "& " + name + "(int k) {", ";\n"));
    std::vector<std::vector<double>> rows;
    for (size_t at = text.find("= {") + 3; (at = text.find('{', at)) != std::string::npos;) {
      const size_t end = text.find('}', at);
      rows.push_back(numbers(text.substr(at + 1, end - at - 1)));
      at = end;
    }
    rows.pop_back();  // the empty row at the end
    return rows;
  }
  std::vector<double> list(const std::string& name) const {
    return numbers(between(between(text_, "& " + name + "(int k) {", ";"), "= {", "{}"));
  }

  // Reads all functions; `places` holds the variables that they use.
  void read_functions(Places places) {
    places_ = std::move(places);
    const std::string static_void = " static void ";
    for (size_t at = 0; (at = text_.find(static_void, at)) != std::string::npos;) {
      const size_t name = at + static_void.size(), open = text_.find('(', name), brace = text_.find(" {\n", open);
      const size_t end = text_.find("\n  }\n", brace);
      const std::string parameters = text_.substr(open + 1, brace - open - 2);
      const std::string body = text_.substr(brace + 3, end + 1 - brace - 3);
      functions_.emplace(text_.substr(name, open - name),
                         InterpretedFunction(parameters, without_comments(body), places_));
      at = end;
    }
  }
  bool has(const std::string& function) const { return functions_.contains(function); }
  void call(const std::string& function, std::initializer_list<const void*> arguments) const {
    const auto found = functions_.find(function);
    if (found == functions_.end()) throw std::runtime_error("the header has no " + function);
    found->second(arguments.begin());
  }

 private:
  static std::vector<double> numbers(const std::string& text) {
    std::vector<double> all;
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find(',', from), text.size());
      const std::string item = text.substr(from, end - from);
      if (item.find_first_not_of(" \n") != std::string::npos)
        all.push_back(item.find("true") != std::string::npos    ? 1
                      : item.find("false") != std::string::npos ? 0
                                                                : std::stod(item));
      from = end + 1;
    }
    return all;
  }

  std::string text_;
  std::map<std::string, double> sizes_;
  Places places_;
  std::map<std::string, InterpretedFunction> functions_;
};

}  // namespace drl::test
