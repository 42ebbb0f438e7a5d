// The base class of the classes that read parts of a model.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/enum_table.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "physics/robot_model.hpp"
#include "physics/visited_states.hpp"

namespace drl::robot_compiler {

// MuJoCo's bounds of divisors, impedances and friction.
constexpr double kLeast = 1e-15, kLeastImpedance = 1e-4, kMostImpedance = 0.9999, kLeastFriction = 1e-5;
// The inverse weight whose rows are as stiff as MuJoCo makes any.
constexpr double kLeastWeight = kLeast * kMostImpedance / (1 - kMostImpedance);

// Snaps values within 1e-12 of an integer (0, 1 or -1 in practice) to it.
inline double snap(double x) { return std::abs(x - std::round(x)) < 1e-12 ? std::round(x) : x; }

inline Numbers3 numbers(const mjtNum* x) { return {snap(x[0]), snap(x[1]), snap(x[2])}; }
inline Rotation rotation(const mjtNum* quat) {
  mjtNum m[9];
  mju_quat2Mat(m, quat);
  return {numbers(m), numbers(m + 3), numbers(m + 6)};
}
inline Numbers3 plus(const Numbers3& a, const Numbers3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Numbers3 times(const Rotation& r, const Numbers3& x) {
  Numbers3 y{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k) y[i] += r[i][k] * x[k];
  return {snap(y[0]), snap(y[1]), snap(y[2])};
}
inline Numbers3 column(const Rotation& r, size_t k) { return {r[0][k], r[1][k], r[2][k]}; }
inline Rotation times(const Rotation& a, const Rotation& b) {
  Rotation c;
  for (size_t k = 0; k < 3; ++k) {
    const Numbers3 x = times(a, column(b, k));
    for (size_t i = 0; i < 3; ++i) c[i][k] = x[i];
  }
  return c;
}

// Returns the kind of a geom or of a site's volume (mjtGeom).
inline physics::ShapeKind shape_of(int type) {
  using enum physics::ShapeKind;
  constexpr auto kShapes = by_enum<mjtGeom, physics::ShapeKind>(mjGEOM_MESH, {{mjGEOM_PLANE, plane},
                                                                              {mjGEOM_HFIELD, height_field},
                                                                              {mjGEOM_SPHERE, sphere},
                                                                              {mjGEOM_CAPSULE, capsule},
                                                                              {mjGEOM_ELLIPSOID, ellipsoid},
                                                                              {mjGEOM_CYLINDER, cylinder},
                                                                              {mjGEOM_BOX, box},
                                                                              {mjGEOM_MESH, mesh}});
  return kShapes[static_cast<size_t>(type)];
}

class PartReader {
 public:
  PartReader(const mjModel& model, RobotModel& robot) : m_(model), r_(robot) {}

 protected:
  void refuse(const std::string& element, const std::string& what, const std::string& detail = "") {
    add_unsupported(r_, element, what, detail);
  }
  // Returns whether the model switches off a part of the physics (mjtDisableBit).
  bool is_off(int flag) const { return (m_.opt.disableflags & flag) != 0; }
  bool is_constraint_off(int flag) const { return is_off(mjDSBL_CONSTRAINT | flag); }
  std::string name(mjtObj type, int k) const {
    const char* text = mj_id2name(&m_, type, k);
    return text && *text ? text : "number " + std::to_string(k);
  }
  std::string quoted(const char* what, mjtObj type, int k) const {
    return std::string(what) + " '" + name(type, k) + "': ";
  }
  // The arguments of quoted(), for elements that are seldom named.
  struct Element {
    const char* what;
    mjtObj type;
    int index;
  };

  // The violation of dry friction is always 0, so its impedance is s.least.
  DryFriction dry_friction(const mjtNum* solref, const mjtNum* solimp, const Element& where, double most,
                           double inverse_weight) {
    const Softness s = softness(solref, solimp, where);
    const double regularisation = std::max(kLeast, (1 - s.least) / s.least * inverse_weight);
    return {most, 1 / regularisation, s.damping};
  }
  // Converts solref and solimp. If the signs of solref's numbers differ, MuJoCo uses its default.
  Softness softness(const mjtNum* solref, const mjtNum* solimp, const Element& where) {
    constexpr mjtNum kDefault[] = {0.02, 1};
    if ((solref[0] > 0) != (solref[1] > 0)) solref = kDefault;
    Softness s;
    s.least = std::clamp(solimp[0], kLeastImpedance, kMostImpedance);
    s.most = std::clamp(solimp[1], kLeastImpedance, kMostImpedance);
    s.width = std::max(0.0, solimp[2]);
    s.midpoint = std::clamp(solimp[3], kLeastImpedance, kMostImpedance);
    s.power = static_cast<int>(std::max(1.0, solimp[4]));
    if (s.power > 2 || s.power != std::max(1.0, solimp[4])) {
      if (s.least != s.most && s.width > kLeast)
        refuse(quoted(where.what, where.type, where.index), "a power of solimp that is neither 1 nor 2");
      s.power = 2;  // has no effect if the impedance is constant
    }
    if (solref[0] > 0) {
      const double time = is_off(mjDSBL_REFSAFE) ? solref[0] : std::max(solref[0], 2 * m_.opt.timestep);
      s.stiffness = 1 / std::max(kLeast, s.most * s.most * time * time * solref[1] * solref[1]);
      s.damping = 2 / std::max(kLeast, s.most * time);
    } else {
      s.stiffness = -solref[0] / std::max(kLeast, s.most * s.most);
      s.damping = -solref[1] / std::max(kLeast, s.most);
    }
    if (s.width <= kLeast) s.least = s.most = (s.least + s.most) / 2, s.width = 1;  // makes the impedance constant
    return s;
  }

  // Adds the damping and the armature that actuators bring to a joint or tendon, times the square of their gears.
  void add_actuators(mjtObj type, int target, ForceProfile& damping, double& armature) const {
    for (int a = 0; a < mujoco::count_actuators(m_); ++a) {
      const int acts_on = m_.actuator_trntype[a];
      const bool is_it =
          type == mjOBJ_TENDON ? acts_on == mjTRN_TENDON : acts_on == mjTRN_JOINT || acts_on == mjTRN_JOINTINPARENT;
      if (!is_it || m_.actuator_trnid[2 * a] != target || !mujoco::adds_to_target(m_, a)) continue;
      const double square = m_.actuator_gear[6 * a] * m_.actuator_gear[6 * a];
      armature += mujoco::actuator_armature(m_, a) * square;
      if (is_off(mjDSBL_DAMPER)) continue;
      damping.linear += mujoco::actuator_damping(m_, a) * square;
      for (size_t k = 0; k < damping.higher.size(); ++k)
        damping.higher[k] += mujoco::actuator_higher_damping(m_, a)[k] * square;
    }
  }

  const mjModel& m_;
  RobotModel& r_;
};

// Reads which parameters environments may change. The file lists them in
// <custom><text name="varies" data="friction GEOM... center_of_mass BODY..."/>. Requires frames and geoms.
void read_parameters(const mjModel& model, RobotModel& robot);
// Reads the contacts with the floor and between geoms. Requires parameters.
void read_contacts(const mjModel& model, RobotModel& robot);
// Chooses how many contacts between geoms a lane has places for: `contacts` if it is not 0, else all that its pairs can
// have, or, where these are many, half as many again as libmujoco has in random motions of the model. Requires
// contacts.
void choose_pair_places(VisitedStates& visited, RobotModel& robot, int contacts);
// Reads the tendons. Requires joints and sites.
void read_tendons(const mjModel& model, RobotModel& robot);
// Reads the actuators. Requires tendons.
void read_actuators(const mjModel& model, RobotModel& robot);
// Reads the active equality constraints, and adds the degrees of freedom that they and the rows of tendons couple to
// Dof::ancestors. Requires tendons.
void read_equalities(const mjModel& model, RobotModel& robot);
// If there are many pairs, sorts those that are not ground pairs into groups. Requires places.
void group_pairs(RobotModel& robot);
// Reads how the numbers that MuJoCo derives from masses and the like follow from the parameters. Requires all else that
// has them.
void read_constants(const mjModel& model, RobotModel& robot);
// Reads a range finder and the geoms that its ray may meet, or returns why lanes do not compute it.
std::string read_range_finder(const mjModel& model, int sensor, Sensor& to, RobotModel& robot);
// Reads a sensor of distances and the geoms between which they are, or returns why lanes do not compute it.
std::string read_distance_sensor(const mjModel& model, int sensor, Sensor& to, RobotModel& robot);
// Reads the sensors. Requires contacts.
void read_sensors(const mjModel& model, RobotModel& robot);

}  // namespace drl::robot_compiler
