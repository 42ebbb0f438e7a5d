// What a robot's header has beside functions.
#pragma once

#include <string>

#include "physics/program.hpp"

namespace drl::robot_compiler {

// The names of parts, by MuJoCo's numbers; joints.
std::string emit_names(const RobotModel& model);

// struct Sizes: how many there are of what, and what the loops over contacts and pairs go through.
std::string emit_sizes(const RobotModel& model, const Program& program);

}  // namespace drl::robot_compiler
