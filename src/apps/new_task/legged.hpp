// Finds out what a velocity task (drl/robots/velocity.hpp) and a tracking task (drl/robots/tracking.hpp) need to know
// about a legged robot, and prepares a copy of its model for them.
#pragma once

#include <array>
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
  int body_id = 0;  // in ModelCopy::model(), as the next
  std::vector<int> geom_ids{};
  std::array<double, 3> sole{};  // m, of the site in the body's frame
};
struct Legged {
  int root_id = 0;                       // in ModelCopy::model()
  std::vector<LeggedJoint> joints = {};  // in the order of the actuators
  std::vector<LeggedFoot> feet = {};
  std::string base = {}, root = {}, torso = {};
  double height = 0, mass = 0;  // m, of the root when the feet touch the floor; kg
  bool is_symmetric = false;    // then the next two describe the mirror
  std::vector<std::pair<std::string, std::string>> sides = {};
  std::vector<std::string> flips = {};
  int floor_contype = 1, floor_conaffinity = 1;  // of the model's own floor
  bool has_light = false;
  std::vector<std::string> changes = {};  // what change_copy changed, a sentence each
  std::vector<std::string> tracked = {};  // bodies, of a tracking task; the first is the root
  std::vector<int> last_tracked = {};     // indices of those that are the last of a chain
};

// Returns the description of a robot whose root body is `root`. Its feet are the bodies of these names or, if there are
// none, the last bodies of those chains that reach lowest at the start. Parts without a name get one in the copy.
// Throws UsageError with the reason if the robot is none that can walk: it has no free joint, fewer than two feet, or
// other motors than one for each of its joints.
Legged find_legged(ModelCopy& copy, int root, const std::vector<std::string>& feet);

// Chooses the bodies that track a motion: the root, bodies at which chains branch, the last body of each chain and the
// one in its middle. The centre of mass of the root varies. Throws UsageError if a joint has no motor.
void find_tracked(ModelCopy& copy, Legged& robot);

// Changes the copy: removes the floor, adds soles and the base's sensors, makes motors position controllers.
void change_copy(ModelCopy& copy, Legged& robot);

}  // namespace drl
