// The parts of a robot's header that are not functions.
#pragma once

#include <string>

#include "physics/program.hpp"

namespace drl::robot_compiler {

// Writes the names of bodies, geoms, sites and actuators in MuJoCo's order, and the joints.
std::string emit_names(const RobotModel& model);

// Writes struct Sizes: the counts, and the tables for the loops over contacts and pairs.
std::string emit_sizes(const RobotModel& model, const Program& program);

// Writes the counts and tables of elliptic cones, hulls, parameters and sensor values, as part of struct Sizes.
std::string emit_cone_tables(const RobotModel& model);
// Write the tables of range finders, and of sensors of distances, with the geoms that they know, as part of struct
// Sizes.
std::string emit_range_finders(const RobotModel& model);
std::string emit_distance_sensors(const RobotModel& model);
// Writes the tables of drl/physics/trees.hpp, or "" for models that need none.
std::string emit_trees(const RobotModel& model);
// Writes the tables of drl/physics/tree_motion.hpp and drl/physics/tree_frames.hpp.
std::string emit_bodies(const RobotModel& model);

// Returns "ShapeKind::sphere", for example.
const char* name_of(physics::ShapeKind kind);
// Returns the nine numbers of a rotation as text.
std::string flat(const Rotation& rows);
// Return the numbers of a Softness or a ConeFriction as text. The text of cone_of() begins with a comma. varies_of()
// returns only the indices of parameters, also after a comma, or "" if there are none.
std::string softness_of(const Softness& s);
std::string cone_of(const ConeFriction& cone);
std::string varies_of(const ConeFriction& cone);

}  // namespace drl::robot_compiler
