// Decides whether a robot's constraints are too stiff for float.
#pragma once

#include <string>
#include <vector>

#include "physics/robot_model.hpp"

namespace drl::robot_compiler {

class VisitedStates;

// The stiffness of a constraint is the largest weight of a direction, relative to the inertia along it. It is the ratio
// by which the rows' part J^T W J of the solver's matrix M + J^T W J exceeds M. The sum keeps M only with a relative
// error of this ratio times the rounding error of float, 2^-24. For light feet, the 99th percentile of the relative
// errors of accelerations was measured as 0.7e-6 (pyramids) to 1.25e-6 (elliptic cones) times the stiffness. It should
// be at most 1e-3.
constexpr double kMostStiffInFloat = 500;

// If a contact is stiffer, but no other constraint, libmujoco's random motion decides: many robots have feet whose
// impedance comes close to 1, but only when they are deep in the floor, or when the stiff rows hardly change the
// accelerations. The error of float (physics/float_error.hpp) may be at most this in 99 % of the steps with contacts.
// In lanes it was measured as 0.1 to 2 times that: 3e-4 for robots of 1.7e-3, and 4e-3 to 9e-3 for robots of 4e-3 or
// more.
constexpr double kMostFloatError = 2.5e-3;

// The stiffest contact, equality constraint, or row of a tendon or ball. Limits and dry friction of other joints do not
// count, however stiff they are: each changes only one number on the matrix's diagonal (three for a free joint).
struct StiffestConstraint {
  std::string name;  // of a contact's geom, the equality constraint, the tendon or the ball joint
  double stiffness = 0;
  bool is_alone = false;  // a contact, and only contacts are too stiff for float
};
StiffestConstraint stiffest_constraint(const RobotModel& model);

// Returns whether random motion decides. This is not so for robots with equality constraints, which lose more digits:
// float's rounding of the positions opens closed loops.
bool depends_on_motion(const RobotModel& model);
// Sets what decides then (RobotModel::float_trial). Requires contacts.
void try_float(VisitedStates& visited, RobotModel& model);

// Returns whether constraints are too stiff for float. Rigid contacts are, if any occurred in random motion.
bool is_stiff(const RobotModel& model);
// Returns, for each contact with the floor and each pair, the distance below which it is stiffer than any contact of
// random motion, and too stiff for float. Empty for robots that have no such contact or are computed in double. Lanes
// count steps with such contacts (Metrics/unsolved).
std::vector<double> deepest_contacts(const RobotModel& model);
// Returns whether lanes compute a robot in double: also with the noslip solver, which tells singular matrices from
// others by determinants of 1e-10.
inline bool needs_double(const RobotModel& model) { return model.noslip || is_stiff(model); }

}  // namespace drl::robot_compiler
