// Counts and indices of a robot's parts, and the space that they need in a Work (drl/physics/work.hpp).
#pragma once

#include <array>
#include <set>
#include <vector>

#include "physics/robot_model.hpp"

namespace drl::robot_compiler {

// numbered() numbers the true entries 0, 1, 2, ... and gives the others -1. count_numbers() returns how many numbers
// such a list uses: the largest number plus 1.
std::vector<int> numbered(const std::vector<bool>& which);
int count_numbers(const std::vector<int>& numbers);

// Return, for each body or frame, its index among those that may have contacts, or -1 if it has none. Bodies count only
// contacts with the floor and the world; frames count contacts with other geoms too.
std::vector<int> touching_bodies(const RobotModel& model);
std::vector<int> touching_frames(const RobotModel& model);
// Returns the body of a ground pair.
int body_on_ground(const RobotModel& model, size_t pair);
// Returns whether any two bodies may touch each other.
inline bool has_rows_of_pairs(const RobotModel& model) { return model.pairs.size() > model.ground_pairs; }
// Returns whether a degree of freedom moves a body (-1: the world).
bool moves(const RobotModel& model, size_t dof, int body);
// Returns the number of rows of equality constraints.
int count_equality_rows(const RobotModel& model);
// Returns the length from a geom's centre to the end of its axis, or to the furthest point of a shape without radius.
double size_of(const PairGeom& geom);
// Returns the joints with limits.
std::vector<const Joint*> limited_joints(const RobotModel& model);
// Returns the indices of the degrees of freedom with dry friction.
std::vector<int> frictional_dofs(const RobotModel& model);
// Return the indices of the tendons with limits, with dry friction, and with either. The rows of tendons follow those
// of joints.
std::vector<int> limited_tendons(const RobotModel& model);
std::vector<int> frictional_tendons(const RobotModel& model);
std::vector<int> tendons_with_rows(const RobotModel& model);
// Return the numbers of limits and of rows of dry friction, of joints and tendons.
int count_limits(const RobotModel& model);
int count_frictions(const RobotModel& model);
// Returns the degrees of freedom that change a tendon's length.
std::set<int> dofs_of_tendon(const RobotModel& model, const Tendon& tendon);
// Returns those on which an actuator acts, but for adhesion.
std::set<int> dofs_of_actuator(const RobotModel& model, const Actuator& actuator);
// Returns the indices of the actuators that adhere to contacts, if any pair has such contacts.
std::vector<int> adhesions(const RobotModel& model);
// Return the number of floor contacts with friction pyramids, and of those with elliptic cones.
int count_pyramids(const RobotModel& model);
int count_cones(const RobotModel& model);
int count_turned_geoms(const RobotModel& model);  // among pair_geoms
// Returns whether lanes remember how pairs were apart (PairMemory in drl/physics/collide.hpp): some pair has no closed
// form.
bool remembers_pairs(const RobotModel& model);

// Returns, for each value of MuJoCo's sensordata, its place among the values that a stage keeps. Motion sensors are
// derived on demand instead and have place -1. With Runge-Kutta, all values are kept, since MuJoCo's sensors show a
// step's first stage.
std::vector<int> sensor_places(const RobotModel& model);
// Return whether a sensor is of a kind, or of one of several.
bool senses(const RobotModel& model, Sensor::Kind kind);
bool senses(const RobotModel& model, bool (Sensor::*is)() const);
int count_sensed(const RobotModel& model);  // in groups of four places
// Returns whether distances from the floor are computed in double. This is so with elliptic cones.
// With pyramids it is so if a body has many points that may touch the floor, as a foot of G1: small errors of their
// distances would then turn the foot.
bool has_exact_distances(const RobotModel& model);
// Returns whether M, its factors and solutions are computed in loops over tables (drl/physics/trees.hpp): the code
// without loops would be too large. The loops are also faster then, because that code would not fit into the caches.
// Loops then usually compute the motions and forces of bodies as well (can_loop_over_bodies).
bool uses_loops(const RobotModel& model);
// Return where each row of a matrix with M's sparsity begins in these loops [nv + 1], the number of its entries, and
// the number of multiplications of its factorisation.
std::vector<int> tree_rows(const RobotModel& model);
int tree_entries(const RobotModel& model);
int tree_products(const RobotModel& model);
// Returns for each degree of freedom the next one that moves its body, or -1.
std::vector<int> tree_movers(const RobotModel& model);
// Returns for each degree of freedom its chain in Newton's matrix (drl/physics/chains.hpp): a part of the tree without
// branches.
std::vector<int> chains(const RobotModel& model);
// The number of residuals of a pair's contacts; the most of all pairs that are not ground pairs, and the most degrees
// of freedom that move one of their geoms and not the other.
int dimensions_of(const GeomPair& pair);
int pair_dimensions(const RobotModel& model);
int pair_columns(const RobotModel& model);
// Returns bits of the numbers of residuals that contacts with the world have: cones on the floor and ground pairs.
int residual_numbers(const RobotModel& model);
// Returns the most directions of friction that an elliptic cone of a pair has.
int most_friction_directions(const RobotModel& model);
// Returns whether environments change the friction of pyramids.
bool edges_vary(const RobotModel& model);
// Returns the frames of a contact's geoms, or -1 for those without a touch sensor.
std::pair<int, int> touched_frames(const RobotModel& model, int first, int second);
std::pair<int, int> touched_frames(const RobotModel& model, const GeomPair& pair);
// Return whether a contact or touch sensor shows pairs of geoms, and whether a contact sensor needs a contact's own
// axes or its distance.
bool senses_pairs(const RobotModel& model);
bool senses_axes(const RobotModel& model);
bool senses_distances(const RobotModel& model);
// Returns whether a contact sensor shows contacts that may be in their gap.
bool senses_gaps(const RobotModel& model);

// The drag of a fluid's box in its own axes, torque and force: -(linear + quadratic |x|) x (MuJoCo, "Computation",
// fluid forces, inertia model). There is drag from the fluid's density, and viscous resistance as on a sphere of the
// box's mean size.
struct FluidDrag {
  std::array<double, 6> linear, quadratic;
};
FluidDrag drag_of(const RobotModel& model, const FluidBox& box);

// Returns the place of a parameter's first number among all numbers of parameters, or -1.
int place_of_parameter(const RobotModel& model, ModelParameter::Kind kind, int index);
// Returns whether environments move or turn sites.
bool moves_sites(const RobotModel& model);
// Returns the place of a derived constant among these numbers, or -1.
int place_of_constant(const RobotModel& model, DerivedConstants::Of of, int index);
// Returns the ratios of the derived constants to those of the file, for the numbers of all parameters.
std::vector<double> constant_ratios(const RobotModel& model, const std::vector<double>& numbers);

}  // namespace drl::robot_compiler
