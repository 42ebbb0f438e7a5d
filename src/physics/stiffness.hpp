// Decides whether a robot's constraints are too stiff for float.
#pragma once

#include <string>

#include "physics/robot_model.hpp"

namespace drl::robot_compiler {

// The stiffness of a constraint is the largest weight of a direction, relative to the inertia along it. It is the ratio
// by which the rows' part J^T W J of the solver's matrix M + J^T W J exceeds M. The sum keeps M only with a relative
// error of this ratio times the rounding error of float, 2^-24. For light feet, the 99th percentile of the relative
// errors of accelerations was measured as 0.7e-6 (pyramids) to 1.25e-6 (elliptic cones) times the stiffness. It should
// be at most 1e-3.
constexpr double kMostStiffInFloat = 500;

// The stiffest contact, equality constraint, or row of a tendon or ball. Limits and dry friction of other joints do not
// count, however stiff they are: each changes only one number on the matrix's diagonal (three for a free joint).
struct StiffestConstraint {
  std::string name;  // of a contact's geom, the equality constraint, the tendon or the ball joint
  double stiffness = 0;
};
StiffestConstraint stiffest_constraint(const RobotModel& model);

// Returns whether constraints are too stiff for float.
inline bool is_stiff(const RobotModel& model) { return stiffest_constraint(model).stiffness > kMostStiffInFloat; }
// Returns whether lanes compute a robot in double: also with the noslip solver, which tells singular matrices from
// others by determinants of 1e-10.
inline bool needs_double(const RobotModel& model) { return model.noslip || is_stiff(model); }

}  // namespace drl::robot_compiler
