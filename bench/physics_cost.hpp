// Estimates the memory and the operations of a robot's step before it is compiled (model_cost).
#pragma once

#include "physics/emit.hpp"
#include "physics/program.hpp"

namespace drl::robot_compiler {

struct Cost {
  int state_bytes = 0, work_bytes = 0;  // for one lane of float: an environment's state, and the work of a stage
  // Operations of a step: `least` if there are no contacts; `most` if everything that may touch the floor does, and the
  // solver takes three iterations, as it does for most robots in motion. A multiply-add counts as one operation, a sine
  // or cosine as twenty.
  int least = 0, most = 0;
  // Steps per second of one 3 GHz core for `most` and for `least` operations, each on `lanes` lanes: 16, or 8 in
  // double. These are estimates; bench/physics_bench measures the speed.
  int lanes = 0;
  double slowest = 0, fastest = 0;
};
Cost cost_of(const RobotModel& model, const Program& program);

}  // namespace drl::robot_compiler
