// Writes a task for a robot, to edit: what drl_new_task --robot needs to know about a model.
#pragma once

#include <string>

namespace drl {

// Returns a C++ header (drl/robot.hpp) with a task `name` for the robot of an MJCF file. A robot that moves freely
// should move along x without falling; any other should bring its last body to a point. The task's actions are
// the actuators' controls: within their ranges, or around the first keyframe for position actuators of joints. Throws
// UsageError if the file is no model, or nothing in it can be controlled.
std::string robot_task(const std::string& file, const std::string& name);

}  // namespace drl
