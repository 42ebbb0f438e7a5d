// The data structures of the physics in lanes, which the functions of a robot (written by drl_robot), the solver and
// the integrators exchange.
#pragma once

#include <type_traits>
#include <utility>

#include "drl/lanes/lanes.hpp"
#include "drl/physics/columns.hpp"
#include "drl/physics/friction.hpp"
#include "drl/physics/ground.hpp"
#include "drl/physics/height_map.hpp"
#include "drl/physics/near_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

struct NamedJoint {
  const char* name;
  int qpos, qvel;  // indices of its first values
};
struct NamedSensor {
  const char* name;
  int first, size;  // of its values in sensordata
};
// A sensor of the model that lanes do not compute.
struct LackingSensor {
  const char *name, *why;
};

// A state that the model's file names.
template <class Sizes>
struct Keyframe {
  uint64_t name;  // text_hash of it
  double qpos[Sizes::nq], qvel[Sizes::nv], ctrl[at_least_one(Sizes::nu)];
  double act[at_least_one(Sizes::kActivations)];
};

// The range of a joint or a tendon with limits.
using Range = double[2];

// A point of a robot that may touch the floor, with the parameters that its model's functions read.
struct ContactPoint {
  int body, frame;  // indices among the bodies and frames that contacts use
  double radius, height, margin, friction, weight;
  double stiffness, damping, least, most, width, midpoint;  // solver parameters
  int varies[2] = {-1, -1};                                 // parameters that raise the friction, or -1
};

// Parts of a stage or state that only some models have: the values of the model's parameters in this environment,
// followed by the ratios of derived constants, which stay until they are set again, activations, forces of adhesion,
// what contact sensors show, the time, and height fields. They are base classes, because nvcc would keep a second copy
// of a Stage that has empty members.
template <class F, int n>
struct ParameterValues {
  F parameters[n];
};
template <class F>
struct ParameterValues<F, 0> {
  static constexpr const F* parameters = nullptr;
};
template <class F, int n>
struct ActivationValues {
  F act[n];
};
template <class F>
struct ActivationValues<F, 0> {
  static constexpr const F* act = nullptr;
};
// The robot's height fields. A task may set others before a step.
template <int n>
struct HeightMaps {
  const HeightMap* height_maps;  // [n]; not owned
};
template <>
struct HeightMaps<0> {};
template <class F, int n>
struct AdhesionValues {
  F adhesion[n];  // the forces of adhesion along qvel
};
template <class F>
struct AdhesionValues<F, 0> {};
template <class F, int n>
struct SensedValues {
  F sensed[n][4];
};
template <class F>
struct SensedValues<F, 0> {};

// The time at the beginning of a step.
template <class F, bool>
struct TimeValue {
  F time;  // s
};
template <class F>
struct TimeValue<F, false> {};

// A row of an equality constraint: its residual at zero acceleration, and the force in the solution. The row's other
// contributions are part of `mass` and `force` of the Work.
template <class F>
struct EqualityRow {
  F weight, rest, push;
};

template <class F, class Sizes>
struct State : ActivationValues<F, Sizes::kActivations> {
  F qpos[Sizes::nq], qvel[Sizes::nv];
  F warm_start[Sizes::nv];  // MuJoCo's qacc_warmstart
  F time;                   // s
};
// The inputs and results of a stage of a step. derive_all() computes all other quantities from it and its forces.
template <class F, class Sizes>
struct Stage : ParameterValues<F, Sizes::kParameters + Sizes::kConstants>,
               ActivationValues<F, Sizes::kActivations>,
               SensedValues<F, Sizes::kSensorNumbers == 0 ? 0 : at_least_one(Sizes::kSensed)>,
               AdhesionValues<F, Sizes::kAdhesions == 0 ? 0 : Sizes::nv>,
               TimeValue<F, Sizes::kSensesTime>,
               HeightMaps<Sizes::kHeightFields> {
  F qpos[Sizes::nq], qvel[Sizes::nv], ctrl[at_least_one(Sizes::nu)], qacc[Sizes::nv];
  F unsolved;  // number of solutions of this step that did not converge
};
// The forces of a stage's limits, dry friction, equality constraints and contacts.
template <class F, class Sizes>
struct Forces {
  F wrench[at_least_one(Sizes::kTouchingFrames)]
          [Sizes::kWrench];  // torque about the tree's origin and force of contacts
  // Forces of limits along qvel or tendons, then those of dry friction, then those along the rows of equality
  // constraints.
  F limit[at_least_one(Sizes::kLimits + Sizes::kFrictions + Sizes::kEqualityRows)];
};

template <class F, class Sizes>
struct Derived {
  F xpos[Sizes::nbody][3], xquat[Sizes::nbody][4], xipos[Sizes::nbody][3], subtree_com[Sizes::nbody][3];
  F geom_xpos[at_least_one(Sizes::ngeom)][3];
  [[no_unique_address]] Array<F[3], Sizes::nsite> site_xpos;
  // The world has no entry in these arrays.
  F cinert[at_least_one(Sizes::nbody - 1)][10], cvel[at_least_one(Sizes::nbody - 1)][6],
      cfrc_ext[at_least_one(Sizes::nbody - 1)][6];
  F qfrc_actuator[Sizes::nv], qfrc_constraint[Sizes::nv], actuator_force[at_least_one(Sizes::nu)];
  [[no_unique_address]] Array<F, Sizes::kSensorNumbers> sensor;  // of motion sensors
};

// A point that may touch the floor, with members that the robot's header lists. It first holds where the point is; if
// the contact exists, it then holds where the point touches the floor and the residuals at zero acceleration.
template <class F, class Sizes>
union Contact {
  typename Sizes::template Touch<F> touch;
  typename Sizes::template ContactRow<F> row;
};

// A body that has contacts: its velocity, which is then replaced by its acceleration, and what contacts add to its
// equations of motion.
template <class F, class Sizes>
struct TouchingBody {
  F motion[at_least_one(Sizes::kMotions)], coupling[at_least_one(Sizes::kCouplings)];
};

// The sizes of arrays of the Work.
template <class Sizes>
struct WorkSizes {
  static constexpr int kResidualsPerContact = Sizes::kEdges == 3 ? 2 : Sizes::kEdges;
  static constexpr int kContactResiduals = Sizes::kContacts * kResidualsPerContact,
                       kRows = kContactResiduals + Sizes::kLimits;
  static constexpr int kWeights = Sizes::kContacts + Sizes::kLimits;
  static constexpr int kPairDofs = Sizes::kPairs + Sizes::kNoslipIterations > 0 ? Sizes::nv : 0;
  static constexpr int kEntries = packed_entries(kPairDofs);                         // of the matrix
  static constexpr int kPairNumbers = Sizes::kPairDimensions * Sizes::kPairColumns;  // of a contact's rows
  static constexpr int kNearPairs = Sizes::kPairs > 0 ? Sizes::kPairs + 1 : 0;       // with room for one more
  // The numbers of an environment in columns; 0 if all its arrays are on the stack.
  static constexpr int kInColumns = [] {
    constexpr int kFewNumbers = 2048, all = Sizes::kPairContacts * kPairNumbers + 2 * kEntries +
                                            2 * (kRows + Sizes::kLimits) + kWeights + kNearPairs;
    return Sizes::kWide || Sizes::kNoslipIterations > 0 || all < kFewNumbers ? 0 : all;
  }();
};
// An array of the Work, or the column that replaces it.
template <bool is_column, class T, int n, class InColumn = Column<T>>
using WorkArray = std::conditional_t<is_column, InColumn, Array<T, n>>;

// The memory of one stage. Rows are the inequality constraints: kEdges rows of each floor contact, then one of each
// limit. A row has a residual y that is linear in qacc, and pushes with -weight * y if y < 0. All
// edges of a contact have the same weight. For a robot in a plane, y holds a contact's residuals along its normal and
// its tangent.
template <class F, class Sizes>
struct Work : WorkSizes<Sizes> {
  using S = WorkSizes<Sizes>;
  using Contacts = PairContacts<F, Sizes>;
  using ChainSet = Chains<Sizes>;
  using AllSizes = Sizes;
  static constexpr bool kHasColumns = DRL_ON_GPU && std::is_same_v<F, float> && S::kInColumns > 0;
  // Places the arrays that are in columns, of which `first` is the environment's first number.
  DRL_HD void place_columns([[maybe_unused]] F* first) {
    if constexpr (kHasColumns) {
      const auto take = [&](int numbers) DRL_LAMBDA { return std::exchange(first, first + kColumnEnvs * numbers); };
      pair_rows = {take(Sizes::kPairContacts * S::kPairNumbers)};
      matrix = {take(S::kEntries)}, pair_matrix = {take(S::kEntries)};
      y = {take(S::kRows)}, next_y = {take(S::kRows)}, weight = {take(S::kWeights)};
      limit_sign = {take(Sizes::kLimits)}, limit_rest = {take(Sizes::kLimits)};
      near_pair = {reinterpret_cast<uint32_t*>(take(S::kNearPairs))};
    }
  }

  [[no_unique_address]] Array<F, Sizes::kAxis> axis;
  [[no_unique_address]] Array<F, Sizes::kMass> mass;
  [[no_unique_address]] Array<F, Sizes::kForce> force;
  [[no_unique_address]] Array<F, Sizes::kFreeTurn> free_turn;
  [[no_unique_address]] Array<F, Sizes::kDamping> damping;
  [[no_unique_address]] std::conditional_t<(Sizes::kParameters > 0), const F*, Empty<const F*, 0>>
      parameters;                                                 // of the stage
  [[no_unique_address]] HeightMaps<Sizes::kHeightFields> fields;  // of the stage
  [[no_unique_address]] Array<Contact<F, Sizes>, Sizes::kContacts + Sizes::kCones> contact;
  [[no_unique_address]] WorkArray<kHasColumns, F, Sizes::kLimits> limit_sign, limit_rest;
  [[no_unique_address]] WorkArray<kHasColumns, F, S::kWeights> weight;
  [[no_unique_address]] WorkArray<kHasColumns, F, S::kRows> y, next_y;  // at the last and at the next accelerations
  union {
    Array<TouchingBody<F, Sizes>, Sizes::kTouchingBodies> body;
    Forces<F, Sizes> forces;  // after the solution
  };
  // Indices of the floor contacts that exist in some lane, and of those whose active edges change at next_y (only if
  // the solver uses that list). Each has room for one more.
  uint16_t touching[Sizes::kContacts + Sizes::kCones + 1];
  [[no_unique_address]] Array<uint16_t, (Sizes::kContacts > 0 && Sizes::kEdges != 3 ? Sizes::kContacts + 1 : 0)>
      changed;
  int touches = 0, changes = 0;
  bool has_solution = false;          // if so, next_y and the cones hold the residuals of the last one
  bool has_still_geoms = false;       // the axes of the world's geoms have been written (place_still_geoms)
  int grounded = 0, ground_step = 1;  // the number of contacts with the world, and that of solutions so far
  int near_pairs = 0;
  [[no_unique_address]] Array<FloorCone<F>, Sizes::kCones> cone;
  [[no_unique_address]] Array<FrictionRow<F>, Sizes::kFrictions> friction;
  [[no_unique_address]] Array<EqualityRow<F>, Sizes::kEqualityRows> equality;
  [[no_unique_address]] Array<F, Sizes::kEqualityAlong> equality_along;
  // For pairs: the geoms' axes, the first tree's origin relative to that of each tree.
  [[no_unique_address]] Array<GeomAxis<F>, Sizes::kPairGeoms> geom_axis;
  [[no_unique_address]] Array<F, (Sizes::kPairGroups > 0 ? 3 : 0)> origin;  // of the first tree
  [[no_unique_address]] Array<F[3], (Sizes::kTrees > 1 ? Sizes::kTrees : 0)> tree_offset;
  [[no_unique_address]] Array<Axes<F>, Sizes::kTurnedGeoms> geom_turn;
  // Packs of their contacts and of the rows of these, of which each environment has those from first_contact[l] to
  // first_contact[l + 1] - 1; the chains that they couple in each environment, and in all that are unsolved; what they
  // add to the matrix and the force; the matrix of Newton's method, which is then factorised, and the blocks of it that
  // are not 0.
  [[no_unique_address]] Array<Contacts, Sizes::kPairContacts> pair_contacts;
  [[no_unique_address]] WorkArray<kHasColumns, F[at_least_one(S::kPairNumbers)], Sizes::kPairContacts,
                                  VectorColumn<F, S::kPairNumbers>>
      pair_rows;
  int pair_packs = 0, first_contact[kLanesOf<F> + 1] = {};
  ChainSet touching_chains_of[kLanesOf<F>][at_least_one(Sizes::kChains)], touching_chains[at_least_one(Sizes::kChains)];
  ChainPattern<Sizes> coupled_chains;
  [[no_unique_address]] WorkArray<kHasColumns, F, S::kEntries> matrix, pair_matrix;
  [[no_unique_address]] Array<F, S::kPairDofs> inverse, pair_force;
  // Contacts with geoms of the world: one place for each that a pair can have, and the pairs and places of those that
  // exist in some lane.
  struct OnGround {
    uint16_t pair, place;
  };
  [[no_unique_address]] Array<GroundContact<F, Sizes>, Sizes::kGround> ground;
  [[no_unique_address]] Array<OnGround, Sizes::kGround> on_ground;
  // Indices of the pairs that are near in some lane; what is remembered of them, to save time.
  [[no_unique_address]] WorkArray<kHasColumns, uint32_t, S::kNearPairs> near_pair;
  [[no_unique_address]] mutable Array<RememberedPair<F>, count_remembered<Sizes>()> remembered;
  // Not on GPUs, where memory costs more time than this saves, nor if environments change the sizes of geoms.
  static constexpr bool kListsPairs = Sizes::kMeanReach > 0 && !DRL_ON_GPU && !Sizes::kSizes;
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<kListsPairs, ListedPairs<F, Sizes>, Nothing> listed_pairs;
  [[no_unique_address]] Array<F, Sizes::kTendonAlong> tendon_along;
  // The forces of actuators that adhere to contacts, and what these forces add along qvel in the solver's axes.
  [[no_unique_address]] Array<F, Sizes::kAdhesions> adhesive_force;
  [[no_unique_address]] Array<F, (Sizes::kAdhesions > 0 ? Sizes::nv : 0)> adhesion;
  // For the noslip solver: the rows of dry friction and the products of M^-1 and each of them; those of contacts.
  [[no_unique_address]] Array<F[Sizes::nv], (Sizes::kNoslipIterations > 0 ? Sizes::kFrictions : 0)> friction_along,
      friction_response;
  [[no_unique_address]] Array<NoslipRow<F, Sizes>, count_noslip_rows<Sizes>()> noslip_row;
};

// The memory of one stage of a robot whose steps lanes of float compute in double (Sizes::kWide): that of each half of
// the lanes, and the forces of all.
template <class F, class Sizes>
struct HalvedWork {
  static constexpr bool kHasColumns = false;
  Work<HalfWide<F>, Sizes> half[kLanesOf<F> / kLanesOf<HalfWide<F>>];
  Forces<F, Sizes> forces;
};
template <class F>
inline constexpr bool kIsDouble = std::is_same_v<Scalar<F>, double>;
template <class F, class Sizes>
using WideWork = std::conditional_t<kIsDouble<F>, Work<F, Sizes>, HalvedWork<F, Sizes>>;

}  // namespace drl::inline DRL_ISA::physics
