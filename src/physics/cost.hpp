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

}  // namespace drl::robot_compiler
