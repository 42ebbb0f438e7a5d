// What differs between the versions of MuJoCo that drl takes: 3.5, 3.11 and 4.0. A constant names the oldest version
// that is known to have something, which may lie between these.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace drl::mujoco {

constexpr bool since(int major, int minor) { return mjVERSION_HEADER >= 1'000'000 * major + 1'000 * minor; }

// Connect and weld constraints account for the acceleration of their points at qacc 0.
inline constexpr bool kEqualitiesBend = since(3, 7);
// A contact pushes below its margin and exists below margin + gap. Before, it existed below the margin and pushed below
// margin - gap.
inline constexpr bool kGapFollowsMargin = since(3, 9);
// A body without an inverse inertia of translation has that of rotation, and the other way round.
inline constexpr bool kInertiasAreNotZero = !since(3, 7);
// The flag multiccd lets capsules, cylinders, boxes and meshes touch with a face or an edge, with and without margins
// (drl/physics/touching_sides.hpp).
inline constexpr bool kSidesTouch = since(4, 0);
// Faces are clipped by planes with unit normals; contacts of faces may repeat.
inline constexpr bool kClipsByUnitNormals = since(3, 11);
// Two boxes touch as drl/physics/clipped_boxes.hpp says.
inline constexpr bool kBoxesClipFaces = since(3, 12);
// Two boxes have at most eight contacts.
inline constexpr bool kBoxesHaveEight = since(3, 10);
// A plane touches a face of a mesh, not a vertex and its neighbours.
inline constexpr bool kPlanesTouchFaces = since(3, 13);
// The faces of EPA's polytope turn outwards, and GJK ends where the origin is within its tolerance.
inline constexpr bool kFacesTurnOutwards = since(3, 11);
// GJK and EPA have other bounds where numbers end, and search shapes with margins without them first. A height field
// has a margin as other shapes do; before, it was raised by it.
inline constexpr bool kConvexSearchIsStable = since(4, 0);
// If a small mesh touches a plane, MuJoCo confuses the index of a vertex in the mesh with the index in the hull. It
// then looks at the neighbours of another vertex.
inline constexpr bool kConfusesSmallMeshes = since(3, 6) && !kPlanesTouchFaces;
// Where MuJoCo starts to climb a hull counts (drl/physics/support_points.hpp).
inline constexpr bool kClimbCountsStart = since(3, 11);
// Parallel capsules touch at the ends of their common part, not where the first two of their four ends do.
inline constexpr bool kCapsulesOverlap = since(3, 16);
// Contacts of an explicit pair of geoms on one body, which nothing can move apart, have forces on its parts.
inline constexpr bool kPairsOfOneBodyPush = !since(4, 0);
// Position servos that turn a ball, or a site relative to another, take the shortest way around.
inline constexpr bool kServosGoAround = since(3, 11);
// With implicitfast, free bodies without other joints are integrated as with implicit.
inline constexpr bool kFreeBodiesTurnImplicitly = since(3, 11);
// Tendons touch circles from inside exactly, without a failure where they begin to touch.
inline constexpr bool kInsideWrapsAreExact = since(3, 16);
// The torque that a weld exerts on a body is that of the constraint, not the force along its rows; spatial tendons
// exert forces on bodies, too (mj_rnePostConstraint).
inline constexpr bool kLoadsHaveWeldsAndTendons = since(3, 14);
// mj_setConst also computes the bounds of geoms, by which the broad phase finds them.
inline constexpr bool kSetConstBoundsGeoms = since(3, 16);
// The noslip solver's tolerance is relative to the trace of M, not to that in the reference pose, since 3.17.
inline constexpr bool kNoslipUsesTrace = since(4, 0);
// Actuators whose total force is at the limit of their joint or tendon are not damped implicitly.
inline constexpr bool kLimitedForcesAreNotDamped = since(4, 0);
// Runge-Kutta's stages are combined along the rotations of balls and free joints.
inline constexpr bool kRungeKuttaTurns = since(4, 0);
// The damping of an actuator whose gain depends on the velocity has the control within its range.
inline constexpr bool kDampedByLimitedControl = since(4, 0);
// The normal of a net force of no contacts is 0, not that of any net force.
inline constexpr bool kNoContactsHaveNoNormal = since(4, 0);
// After a step of Runge-Kutta, qacc is the weighted mean of the stages' accelerations, not that of the last one.
inline constexpr bool kRungeKuttaKeepsTheMean = since(4, 0);
// A tendon goes around a geom on the side where its polygon through the side site does.
inline constexpr bool kSideSiteIsOnThePath = since(4, 0);
// The rotation of an actuator's site relative to its reference site has the sites' own rotations where they belong.
inline constexpr bool kSitesTurnInTheirBodies = since(4, 0);
// Accelerometers of what does not move show gravity, not 0.
inline constexpr bool kStandingSensorsShowGravity = since(4, 0);

// The higher coefficients of a polynomial force.
using Higher = std::array<double, 2>;

#if mjVERSION_HEADER >= 3011000

inline int count_actuators(const mjModel& m) { return static_cast<int>(m.nactuator); }
inline bool has_multiccd(const mjModel& m) { return (m.opt.disableflags & mjDSBL_MULTICCD) == 0; }
inline void set_multiccd(mjModel& m, bool on) {
  m.opt.disableflags = on ? m.opt.disableflags & ~mjDSBL_MULTICCD : m.opt.disableflags | mjDSBL_MULTICCD;
}
// The bits of enableflags that lanes know.
inline constexpr int kKnownFlags = mjENBL_OVERRIDE | mjENBL_ENERGY | mjENBL_FWDINV | mjENBL_INVDISCRETE;
static_assert(mjNPOLY == Higher().size());
inline Higher pair_at(const mjtNum* poly, int k) { return {poly[2 * k], poly[2 * k + 1]}; }
inline Higher joint_stiffness(const mjModel& m, int j) { return pair_at(m.jnt_stiffnesspoly, j); }
inline Higher dof_damping(const mjModel& m, int d) { return pair_at(m.dof_dampingpoly, d); }
inline Higher tendon_stiffness(const mjModel& m, int t) { return pair_at(m.tendon_stiffnesspoly, t); }
inline Higher tendon_damping(const mjModel& m, int t) { return pair_at(m.tendon_dampingpoly, t); }
// An actuator damps the joint or tendon on which it acts, and adds inertia to it. These numbers are those at gear 1.
inline double actuator_damping(const mjModel& m, int a) { return m.actuator_damping[a]; }
inline Higher actuator_higher_damping(const mjModel& m, int a) { return pair_at(m.actuator_dampingpoly, a); }
inline double actuator_armature(const mjModel& m, int a) { return m.actuator_armature[a]; }
inline bool has_moving_surface(const mjModel& m, int g) {
  const mjtNum* velocity = m.geom_surfacevel + 6 * g;
  return std::any_of(velocity, velocity + 6, [](mjtNum x) { return x != 0; });
}
// Returns the element of an actuator whose forces lanes do not compute, or null.
inline const char* special_actuator(const mjModel& m, int a) {
  if (m.actuator_gaintype[a] == mjGAIN_DCMOTOR) return "dcmotor";
#if mjVERSION_HEADER >= 4000000
  if (m.actuator_gaintype[a] == mjGAIN_PID) return "pid";
#endif
  return m.actuator_trntype[a] == mjTRN_SO3 ? "orientation" : nullptr;
}
// Returns whether the spring of a joint or tendon yields.
#if mjVERSION_HEADER >= 4000000
inline bool yields(const mjModel& m, mjtObj type, int k) {
  return (type == mjOBJ_JOINT ? m.jnt_springyield : m.tendon_springyield)[k] > 0;
}
#else
inline bool yields(const mjModel&, mjtObj, int) { return false; }
#endif
inline double geom_adhesion(const mjModel& m, int g) { return m.geom_adhesion[g]; }
inline double pair_adhesion(const mjModel& m, int p) { return m.pair_adhesion[p]; }
// Returns what the compiler warns of in a model that it has compiled.
inline std::vector<std::string> warnings_of(mjSpec* spec) {
  std::vector<std::string> all;
  for (int k = 0; k < mjs_numWarnings(spec); ++k) all.emplace_back(mjs_getWarning(spec, k));
  return all;
}

#else

inline int count_actuators(const mjModel& m) { return static_cast<int>(m.nu); }
inline bool has_multiccd(const mjModel& m) { return (m.opt.enableflags & mjENBL_MULTICCD) != 0; }
inline void set_multiccd(mjModel& m, bool on) {
  m.opt.enableflags = on ? m.opt.enableflags | mjENBL_MULTICCD : m.opt.enableflags & ~mjENBL_MULTICCD;
}
inline constexpr int kKnownFlags =
    mjENBL_OVERRIDE | mjENBL_ENERGY | mjENBL_FWDINV | mjENBL_INVDISCRETE | mjENBL_MULTICCD;
inline Higher joint_stiffness(const mjModel&, int) { return {}; }
inline Higher dof_damping(const mjModel&, int) { return {}; }
inline Higher tendon_stiffness(const mjModel&, int) { return {}; }
inline Higher tendon_damping(const mjModel&, int) { return {}; }
inline double actuator_damping(const mjModel&, int) { return 0; }
inline Higher actuator_higher_damping(const mjModel&, int) { return {}; }
inline double actuator_armature(const mjModel&, int) { return 0; }
inline bool has_moving_surface(const mjModel&, int) { return false; }
inline const char* special_actuator(const mjModel&, int) { return nullptr; }
inline bool yields(const mjModel&, mjtObj, int) { return false; }
inline double geom_adhesion(const mjModel&, int) { return 0; }
inline double pair_adhesion(const mjModel&, int) { return 0; }
inline std::vector<std::string> warnings_of(mjSpec* spec) {
  return std::vector<std::string>(mjs_isWarning(spec) ? 1 : 0, mjs_getError(spec));
}

#endif

// Returns whether an actuator adds damping or inertia to its joint or tendon.
inline bool adds_to_target(const mjModel& m, int a) {
  return actuator_damping(m, a) != 0 || actuator_higher_damping(m, a) != Higher{} || actuator_armature(m, a) != 0;
}

// Write the derivatives of a tendon's length and of an actuator's length along qvel, [nv]. Templates, because the
// arrays belong to other structs in other versions.
template <class Model, class Data>
void tendon_row(const Model& m, const Data& d, int t, mjtNum* row) {
  const auto unpack = [&](const int* first, const int* count, const int* column) {
    std::fill_n(row, m.nv, 0.0);
    for (int k = first[t]; k < first[t] + count[t]; ++k) row[column[k]] = d.ten_J[k];
  };
  if constexpr (requires { m.ten_J_rowadr; })
    unpack(m.ten_J_rowadr, m.ten_J_rownnz, m.ten_J_colind);
  else if (mj_isSparse(&m))
    unpack(d.ten_J_rowadr, d.ten_J_rownnz, d.ten_J_colind);
  else
    std::copy_n(d.ten_J + static_cast<size_t>(t) * m.nv, m.nv, row);
}
template <class Model, class Data>
void actuator_row(const Model& m, const Data& d, int a, mjtNum* row) {
  std::fill_n(row, m.nv, 0.0);
  if constexpr (requires { m.actuator_outadr; }) a = m.actuator_outadr[a];
  for (int k = d.moment_rowadr[a]; k < d.moment_rowadr[a] + d.moment_rownnz[a]; ++k)
    row[d.moment_colind[k]] = d.actuator_moment[k];
}

}  // namespace drl::mujoco
