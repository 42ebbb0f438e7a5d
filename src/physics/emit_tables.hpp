// What a robot's header has beside functions.
#pragma once

#include <string>

#include "physics/program.hpp"

namespace drl::robot_compiler {

// The names of parts, by MuJoCo's numbers; joints.
std::string emit_names(const RobotModel& model);

// struct Sizes: how many there are of what, and what the loops over contacts and pairs go through.
std::string emit_sizes(const RobotModel& model, const Program& program);

// Of these, what is of elliptic cones, boxes, parameters and sensors; nothing for models without them.
std::string emit_cone_tables(const RobotModel& model);
std::string emit_sensor_names(const RobotModel& model);

// A table that is read at run time, which GPUs can only do within a function: name(k) is its item k.
std::string emit_table(const std::string& comment, const std::string& type, const std::string& name,
                       const std::string& size, const std::string& items);

// The numbers of a softness, and of a cone behind what is before it.
std::string softness_of(const Softness& s);
std::string cone_of(const ConeFriction& cone);

}  // namespace drl::robot_compiler
