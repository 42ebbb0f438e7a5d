// Writes a robot's program as C++.
#pragma once

#include <string>

#include "physics/program.hpp"

namespace drl::robot_compiler {

// Returns the header of a robot. The lane type F is its template parameter.
std::string emit_header(const RobotModel& model, const Program& program);

// why_not() returns a short reason why a robot cannot be compiled; emit_why_not() returns a header that contains it.
std::string why_not(const RobotModel& model);
std::string emit_why_not(const RobotModel& model);

// The text of one function and its number of operations (a multiply-add counts as one; sines and cosines are counted in
// `trigonometric`).
struct FunctionText {
  std::string text;
  int operations = 0, trigonometric = 0;
};
FunctionText emit_function(const Program& program, const Function& function);

}  // namespace drl::robot_compiler
