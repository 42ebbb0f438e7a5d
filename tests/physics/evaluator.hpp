// Evaluates the functions of a robot's Program, so that hundreds of robots can be tested without a compiler. Values are
// computed in double, with the same fused multiply-adds as in the robot's header, and find their variables by name.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "physics/program.hpp"

namespace drl::test {

// The location of a variable or an array, possibly of arrays or in a structure: "w.geom_axis[].half[]".
struct Place {
  size_t offset = 0;            // in bytes
  std::vector<size_t> strides;  // of each index, in bytes
  std::vector<int> extents;     // the robot's sizes; larger indices are errors
  int gap_from = 0, gap = 0;    // `gap` is added to indices from gap_from on
};
using Places = std::map<std::string, Place>;

class Evaluator {
 public:
  // Prepares all functions; `places` holds the variables that they use. Throws if a function calls loops over tables.
  Evaluator(const robot_compiler::Program& program, const Places& places);

  // Calls a function with the addresses of its arguments.
  void call(const std::string& function, std::initializer_list<const void*> arguments) const;

 private:
  struct Address {
    size_t argument, offset;
  };
  struct Step {  // of a node: its operands are results of earlier steps
    robot_compiler::Op op;
    enum Fused { none, product, minus_product, product_minus } fused = none;
    int of[4] = {-1, -1, -1, -1};  // of a fused step: the factors and the summand
    double value = 0;
    Address input{};
  };
  struct Store {
    Address target;
    int step;  // -1: a known value
    double value;
    bool adds;
    int factors[2] = {-1, -1};  // of a product that is added in one operation
  };
  struct Function {
    std::vector<Step> steps;
    std::vector<Store> stores;
  };
  class Builder;

  std::map<std::string, Function> functions_;
};

}  // namespace drl::test
