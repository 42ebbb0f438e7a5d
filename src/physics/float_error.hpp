// How accurate float is in a state of libmujoco.
#pragma once

#include "drl/physics/mujoco_model.hpp"

namespace drl::robot_compiler {

// Returns the error of the accelerations, max |a - b| / (1 + max |b|), if the last system of equations that Newton's
// method solves for the constraints of `data` is added up, factorised and solved in float. Its matrix is M + J^T W J,
// for the weights W of the active rows.
double float_error(const mjModel& model, mjData& data);

}  // namespace drl::robot_compiler
