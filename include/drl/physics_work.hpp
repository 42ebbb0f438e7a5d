// What the physics of all robots in lanes compute with: the numbers that pass between the functions of a robot, which
// drl_robot writes, the solver and the integrators.
#pragma once

#include "drl/lanes.hpp"
#include "drl/physics_friction.hpp"
#include "drl/physics_pairs.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

struct NamedJoint {
  const char* name;
  int qpos, qvel;  // where its numbers begin
};
struct NamedSensor {
  const char* name;
  int first, size;  // of its numbers
};

// Of a joint that has limits.
using Range = double[2];

// A place of a robot that may touch the floor: what the functions of its model read of it.
struct ContactPoint {
  int body, frame;  // among those that may touch
  double radius, height, margin, friction, weight;
  double stiffness, damping, least, most, width, midpoint;  // of the solver's parameters
};

// An array of at least one, because C++ has none of 0.
constexpr int some(int n) { return n > 0 ? n : 1; }
// An array that takes no room where it is empty.
template <class T, int n>
struct Empty {};
template <class T, int n>
using Array = std::conditional_t<(n > 0), T[some(n)], Empty<T, n>>;

template <class F, class Sizes>
struct State {
  F qpos[Sizes::nq], qvel[Sizes::nv];
  F warm_start[Sizes::nv];  // MuJoCo's qacc_warmstart
  F time;                   // s
};

// Of a stage, where there are any: what this environment changes, which stays as it is set; of each contact sensor, how
// many contacts there are, and the force on the floor. (Empty members of Stage would have nvcc keep another one.)
template <class F, int n>
struct OwnNumbers {
  F own[n];
};
template <class F>
struct OwnNumbers<F, 0> {};
template <class F, int n>
struct SensedForces {
  F sensed[n][4];
};
template <class F>
struct SensedForces<F, 0> {};

// What a stage of a step was computed from, and what came out: see() finds all else in it and its forces.
template <class F, class Sizes>
struct Stage : OwnNumbers<F, Sizes::kParameters>,
               SensedForces<F, Sizes::kSensorNumbers == 0 ? 0 : some(Sizes::kSensed)> {
  F qpos[Sizes::nq], qvel[Sizes::nv], ctrl[some(Sizes::nu)], qacc[Sizes::nv];
  F unsolved;  // how many solutions of this step had not converged
};
// Of a stage's limits, dry friction and contacts.
template <class F, class Sizes>
struct Forces {
  F wrench[some(Sizes::kTouchingFrames)][Sizes::kWrench];    // of torque about the tree's origin, force of contacts
  F limit[some(Sizes::kLimits + count_frictions<Sizes>())];  // force along qvel; then those of dry friction
};

template <class F, class Sizes>
struct Seen {
  F xpos[Sizes::nbody][3], xquat[Sizes::nbody][4], xipos[Sizes::nbody][3], subtree_com[Sizes::nbody][3];
  F geom_xpos[some(Sizes::ngeom)][3];
  [[no_unique_address]] Array<F[3], Sizes::nsite> site_xpos;
  // Of each but the world.
  F cinert[some(Sizes::nbody - 1)][10], cvel[some(Sizes::nbody - 1)][6], cfrc_ext[some(Sizes::nbody - 1)][6];
  F qfrc_actuator[Sizes::nv], qfrc_constraint[Sizes::nv], actuator_force[some(Sizes::nu)];
  [[no_unique_address]] Array<F, Sizes::kSensorNumbers> sensor;  // of motion
};

// Of a place that may touch the floor, in numbers that the robot's header lists: where it is; then, if it is there,
// where it touches, and its residuals at no acceleration.
template <class F, class Sizes>
union Contact {
  typename Sizes::template Touch<F> touch;
  typename Sizes::template ContactRow<F> row;
};

// A body that has contacts: its velocity, then its acceleration; what contacts add to the equations of its motion.
template <class F, class Sizes>
struct TouchingBody {
  F motion[some(Sizes::kMotions)], coupling[some(Sizes::kCouplings)];
};

// What a stage computes with. Rows are the constraints' inequalities: kEdges of each floor contact, then one of each
// limit, then those of pairs. A row has a residual y that is linear in qacc, and pushes with -weight y where y < 0. A
// contact's edges have one weight; in a plane, y has the residuals along its normal and tangent.
template <class F, class Sizes>
struct Work {
  static constexpr int kOfContact = Sizes::kEdges == 3 ? 2 : Sizes::kEdges;
  static constexpr int kOfContacts = Sizes::kContacts * kOfContact, kFixedRows = kOfContacts + Sizes::kLimits;
  static constexpr int kFixedWeights = Sizes::kContacts + Sizes::kLimits;
  static constexpr int kRows = kFixedRows + Sizes::kPairRows, kOfPairs = Sizes::kPairs > 0 ? Sizes::nv : 0;
  static constexpr int kUpdates = Sizes::kPairRows + kResiduals * Sizes::kPairCones;
  [[no_unique_address]] Array<F, Sizes::kAxis> axis;
  [[no_unique_address]] Array<F, Sizes::kMass> mass;
  [[no_unique_address]] Array<F, Sizes::kForce> force;
  [[no_unique_address]] Array<F, Sizes::kFreeTurn> free_turn;
  [[no_unique_address]] Array<F, Sizes::kDamping> damping;
  [[no_unique_address]] std::conditional_t<(Sizes::kParameters > 0), const F*, Empty<const F*, 0>> own;  // the stage's
  [[no_unique_address]] Array<Contact<F, Sizes>, Sizes::kContacts + Sizes::kCones> contact;
  [[no_unique_address]] Array<F, Sizes::kLimits> limit_sign, limit_rest;
  [[no_unique_address]] Array<F, kFixedWeights + Sizes::kPairRows> weight;
  [[no_unique_address]] Array<F, kRows> y, next_y;  // at the last accelerations, and at the next ones
  union {
    Array<TouchingBody<F, Sizes>, Sizes::kTouchingBodies> body;
    Forces<F, Sizes> forces;  // after the solution
  };
  // Floor contacts that are there in some lane, and those of which other edges push at next_y (where the solver asks
  // for them); each with a place more.
  uint16_t touching[Sizes::kContacts + Sizes::kCones + 1];
  [[no_unique_address]] Array<uint16_t, (Sizes::kContacts > 0 && Sizes::kEdges != 3 ? Sizes::kContacts + 1 : 0)>
      changed;
  int touches = 0, changes = 0;
  bool has_solution = false;  // the last one's residuals, in next_y and the cones
  [[no_unique_address]] Array<FloorCone<F>, Sizes::kCones> cone;
  [[no_unique_address]] Array<FrictionRow<F>, count_frictions<Sizes>()> friction;
  // Of pairs that may touch: parts, where the first tree's origin is from the others', rows, and M's factors with what
  // else pushes.
  [[no_unique_address]] Array<Round<F>, Sizes::kRounds> round;
  [[no_unique_address]] Array<F[3], (Sizes::kTrees > 1 ? Sizes::kTrees : 0)> between;
  [[no_unique_address]] Array<PairRow<F, some(kOfPairs)>, Sizes::kPairRows> pair_row;
  int pair_rows = 0, pair_cones = 0;  // of the lane that has most
  [[no_unique_address]] Array<F, Sizes::kFactor> factor;
  [[no_unique_address]] Array<F, kOfPairs> inverse, half;
  [[no_unique_address]] Array<F[some(kOfPairs)], kUpdates> pair_update;
  [[no_unique_address]] Array<Box<F>, Sizes::kBoxes> box;
  [[no_unique_address]] Array<PairCone<F, some(kOfPairs)>, Sizes::kPairCones> pair_cone;
};

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
