// What of a robot has a number, and how much room its numbers need in a Work (drl/physics_work.hpp).
#pragma once

#include <vector>

#include "physics/robot_model.hpp"

namespace drl::robot_compiler {

// 0, 1, 2, ... for those that are so, -1 for the others; and how many numbers such a list has.
std::vector<int> numbered(const std::vector<bool>& which);
int count_numbers(const std::vector<int>& numbers);

// A body's number among those that have contacts, in their order; -1 for the others. Likewise the frames.
std::vector<int> touching_bodies(const RobotModel& model);
std::vector<int> touching_frames(const RobotModel& model);
// Numbers of qvel that have a limit, with their joints.
std::vector<const Joint*> limited_joints(const RobotModel& model);
// And dry friction.
std::vector<int> frictional_dofs(const RobotModel& model);
// Contacts with the floor that have rows in the work, or are in elliptic cones.
int count_pyramids(const RobotModel& model);
int count_cones(const RobotModel& model);
int count_boxes(const RobotModel& model);  // among rounds

// The most rows of pairs that a state may have: all, of parallel capsules two contacts, or more than there are unless
// most parts lie within each other.
int count_pair_rows(const RobotModel& model);
// Of those with friction in elliptic cones, places in the solver: lanes that touch themselves in more count as not
// solved.
int count_pair_cones(const RobotModel& model);

// Of each number of MuJoCo's sensordata its place among those that a stage keeps; -1 of motion, which is found in the
// stage when it is asked for. With Runge-Kutta all are kept, since MuJoCo's are of a step's first stage.
std::vector<int> sensor_places(const RobotModel& model);
int count_sensed(const RobotModel& model);  // fours of places

}  // namespace drl::robot_compiler
