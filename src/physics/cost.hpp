// What a step of a robot takes, before it is compiled.
#pragma once

#include "physics/program.hpp"

namespace drl::robot_compiler {

struct Cost {
  int state_bytes = 0, work_bytes = 0;  // of a lane of float: what an environment keeps, and what a stage computes with
  // Operations of a step: if nothing touches, and if all does that may touch the floor and the solver goes the rounds
  // that it does for most robots in motion. A multiply-add is one; a sine or cosine is twenty.
  int least = 0, most = 0;
  // Steps a second of a core at 3 GHz with 16 lanes, of the most and the least operations. An estimate:
  // bench/physics_bench measures.
  double slowest = 0, fastest = 0;
};
Cost cost_of(const RobotModel& model, const Program& program);

// The most rows of pairs that a state may have: all, of parallel capsules two contacts, or more than there are unless
// most parts lie within each other.
int count_pair_rows(const RobotModel& model);
// Of those with friction in elliptic cones, places in the solver: lanes that touch themselves in more count as not
// solved.
int count_pair_cones(const RobotModel& model);

}  // namespace drl::robot_compiler
