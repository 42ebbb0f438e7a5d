// A robot's program as C++.
#pragma once

#include <string>

#include "physics/program.hpp"

namespace drl::robot_compiler {

// The header of a robot, generic in the lanes F.
std::string emit_header(const RobotModel& model, const Program& program);

// Why a robot cannot be compiled, in few words, and the header that says so.
std::string why_not(const RobotModel& model);
std::string emit_why_not(const RobotModel& model);

// Of one function: its text, and how many operations it has (a multiply-add is one, sine and cosine are
// `trigonometric`).
struct FunctionText {
  std::string text;
  int operations = 0, trigonometric = 0;
};
FunctionText emit_function(const Program& program, const Function& function);

}  // namespace drl::robot_compiler
