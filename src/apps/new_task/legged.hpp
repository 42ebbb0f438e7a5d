// Finds out what a velocity task (drl/robots/velocity.hpp) needs to know about a legged robot, and prepares a copy of
// its model for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/new_task/model_copy.hpp"

namespace drl {

struct LeggedJoint {
  std::string name;
  double angle = 0;                               // rad, at the start
  double torque = 0, stiffness = 0, damping = 0;  // of velocity::Motor
  bool was_torque = false;                        // the model's actuator was a motor, which got a position controller
  double standing = 0, walking = 0, running = 0;  // of velocity::Joint
};
struct LeggedFoot {
  std::string site{}, body{}, contact{};
  std::vector<std::string> geoms{};
};
struct Legged {
  std::vector<LeggedJoint> joints;  // in the order of the actuators
  std::vector<LeggedFoot> feet;
  std::string base, root, torso;
  double height = 0, mass = 0;  // m, of the root when the feet touch the floor; kg
  bool is_symmetric = false;    // then the next two describe the mirror
  std::vector<std::pair<std::string, std::string>> sides = {};
  std::vector<std::string> flips = {};
  int floor_contype = 1, floor_conaffinity = 1;  // of the model's own floor
  bool has_light = false;
  std::vector<std::string> changes = {};  // what prepare_legged changed in the copy, a sentence each
};

// Returns the description of a robot whose root body is `root`. Its feet are the bodies of these names or, if there are
// none, the last bodies of those chains that reach lowest at the start. Throws UsageError with the reason if the robot
// is none that can walk: it has no free joint, fewer than two feet, or other motors than one for each of its joints.
//
// Changes the copy: removes the floor, names parts, adds the base's sensors, makes motors position controllers.
Legged prepare_legged(ModelCopy& copy, int root, const std::vector<std::string>& feet);

}  // namespace drl
