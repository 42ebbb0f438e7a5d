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

// Tables of elliptic cones, boxes, parameters and sensors, within Sizes; nothing for models without them.
std::string emit_cone_tables(const RobotModel& model);
// The names of sensors.
std::string emit_sensors(const RobotModel& model);

// The shortest C++ of a number; a text in lines of at most 120 columns, broken at spaces.
std::string number(double x);
std::string wrapped(const std::string& text, const std::string& indent);
// { a, b, c } without the braces.
std::string numbers(const std::vector<double>& list);
std::string softness_of(const Softness& s);
std::string cone_of(const ConeFriction& cone);  // behind what is before it

// Of one function: its text, and how many operations it has (a multiply-add is one, sine and cosine are
// `trigonometric`).
struct FunctionText {
  std::string text;
  int operations = 0, trigonometric = 0;
};
FunctionText emit_function(const Program& program, const Function& function);

}  // namespace drl::robot_compiler
