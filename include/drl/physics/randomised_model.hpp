// The numbers of a robot's model that options may change per environment, and the ranges from which environments draw
// them (--env.dr, docs/howto/randomisation.md).
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/physics/model_quantities.hpp"
#include "drl/physics/mujoco_model.hpp"

namespace drl {

// Returns whether a network can take an actuator's place: its control is the target of a hinge's or slide's position,
// and it has no activation.
inline bool is_position_controller(const mjModel& m, int a) {
  const int group = m.actuator_group[a];
  const bool is_off = (m.opt.disableflags & mjDSBL_ACTUATION) != 0 ||
                      (group >= 0 && group <= 30 && (m.opt.disableactuator & (1 << group)) != 0);
  return !is_off && m.actuator_trntype[a] == mjTRN_JOINT && m.jnt_type[m.actuator_trnid[2 * a]] >= mjJNT_SLIDE &&
         m.actuator_dyntype[a] == mjDYN_NONE && m.actuator_gaintype[a] <= mjGAIN_AFFINE &&
         m.actuator_biastype[a] == mjBIAS_AFFINE && m.actuator_gainprm[mjNGAIN * a] != 0 &&
         m.actuator_biasprm[mjNBIAS * a + 1] != 0;
}

// Returns whether joints move a body. mocap bodies, which users move, have none.
inline bool moves(const mjModel& m, int body) { return m.body_treeid[body] >= 0; }

// Returns whether a body is the root of a tree that moves.
inline bool is_root(const mjModel& m, int body) { return m.body_weldid[m.body_parentid[body]] == 0; }

// Returns whether a site's place may change: it only shows motion sensors.
inline bool is_for_sensors(const mjModel& m, int site) {
  if (!moves(m, m.site_bodyid[site])) return false;
  for (int w = 0; w < m.nwrap; ++w)
    if ((m.wrap_type[w] == mjWRAP_SITE && m.wrap_objid[w] == site) ||
        (m.wrap_type[w] >= mjWRAP_SPHERE && static_cast<int>(m.wrap_prm[w]) == site))
      return false;
  for (int a = 0; a < m.nu; ++a)
    if ((m.actuator_trntype[a] == mjTRN_SITE || m.actuator_trntype[a] == mjTRN_SLIDERCRANK) &&
        (m.actuator_trnid[2 * a] == site || m.actuator_trnid[2 * a + 1] == site))
      return false;
  for (int e = 0; e < m.neq; ++e)
    if (m.eq_objtype[e] == mjOBJ_SITE && (m.eq_obj1id[e] == site || m.eq_obj2id[e] == site)) return false;
  for (int s = 0; s < m.nsensor; ++s)
    if (m.sensor_objtype[s] == mjOBJ_SITE && m.sensor_objid[s] == site &&
        (m.sensor_type[s] == mjSENS_GYRO || m.sensor_type[s] == mjSENS_VELOCIMETER ||
         m.sensor_type[s] == mjSENS_ACCELEROMETER || m.sensor_type[s] == mjSENS_MAGNETOMETER))
      return true;
  return false;
}

// Returns whether a tendon goes around a geom.
inline bool is_wrapped(const mjModel& m, int geom) {
  for (int w = 0; w < m.nwrap; ++w)
    if (m.wrap_type[w] >= mjWRAP_SPHERE && m.wrap_objid[w] == geom) return true;
  return false;
}

// Returns what number `k` of a parameter is in the model's file: 0 if a factor of it would have no effect. For other
// quantities, 1 if the element can have them.
inline double number_in_file(const mjModel& m, const ModelParameter& of, int k) {
  const int i = of.index;
  const auto is_hinge_or_slide = [&](int joint) { return m.jnt_type[joint] >= mjJNT_SLIDE; };
  switch (of.kind) {
    case ModelParameter::mass:
      if (!moves(m, i) || m.body_mass[i] == 0) return 0;
      return k < 2 ? m.body_mass[i] : *std::max_element(m.body_inertia + 3 * i, m.body_inertia + 3 * i + 3);
    case ModelParameter::center_of_mass:
      return moves(m, i) && m.body_mass[i] > 0 && has_own_center(m, i) ? 1 : 0;
    case ModelParameter::joint:
      if (!is_hinge_or_slide(m.dof_jntid[i])) return 0;
      return k == 0 ? m.dof_damping[i] : k == 1 ? m.dof_armature[i] : m.dof_frictionloss[i];
    case ModelParameter::spring:
      return is_hinge_or_slide(i) && k == 0 ? m.jnt_stiffness[i] : 0;
    case ModelParameter::actuator: {
      const mjtNum *gain = m.actuator_gainprm + mjNGAIN * i, *bias = m.actuator_biasprm + mjNBIAS * i;
      const bool is_affine = m.actuator_gaintype[i] <= mjGAIN_AFFINE && m.actuator_biastype[i] <= mjBIAS_AFFINE;
      if (k == 2) return m.actuator_forcelimited[i] ? 1 : 0;
      if (!is_affine) return 0;
      const bool gains = m.actuator_gaintype[i] == mjGAIN_AFFINE, biases = m.actuator_biastype[i] == mjBIAS_AFFINE;
      return k == 0 ? std::abs(gain[0]) + (gains ? std::abs(gain[1]) : 0) + (biases ? std::abs(bias[1]) : 0)
                    : (gains ? std::abs(gain[2]) : 0) + (biases ? std::abs(bias[2]) : 0);
    }
    case ModelParameter::motor:  // the limits are those of the beginning of a time step
      return m.opt.integrator != mjINT_RK4 && m.actuator_trntype[i] == mjTRN_JOINT &&
                     is_hinge_or_slide(m.actuator_trnid[2 * i])
                 ? 1
                 : 0;
    case ModelParameter::network:
      return k == 0 && is_position_controller(m, i) ? 1 : 0;
    case ModelParameter::push:
      return moves(m, i) && m.body_weldid[i] == i && m.body_mass[i] > 0 ? 1 : 0;
    case ModelParameter::push_torque:
      return k == 0 && moves(m, i) && m.body_weldid[i] == i && m.body_mass[i] > 0 ? 1 : 0;
    case ModelParameter::range:
      return k < 2 && is_hinge_or_slide(i) && m.jnt_limited[i] ? 1 : 0;
    case ModelParameter::site_position:
    case ModelParameter::site_turn:
      return is_for_sensors(m, i) ? 1 : 0;
    case ModelParameter::size:  // height fields have prisms that depend on sizes
      if (k > 1 || m.nhfield > 0 || !moves(m, m.geom_bodyid[i]) || is_wrapped(m, i) ||
          (m.geom_contype[i] == 0 && m.geom_conaffinity[i] == 0))
        return 0;
      return m.geom_type[i] == mjGEOM_SPHERE || m.geom_type[i] == mjGEOM_CAPSULE ||
                     (k == 1 && m.geom_type[i] >= mjGEOM_ELLIPSOID && m.geom_type[i] <= mjGEOM_BOX)
                 ? 1
                 : 0;
    case ModelParameter::friction:
      return k == 0 && (m.geom_contype[i] != 0 || m.geom_conaffinity[i] != 0) ? 1 : 0;
    default:
      return 1;
  }
}

// Returns the parameters of a model that options may change. Their order determines what environments draw.
inline std::vector<ModelParameter> randomisable(const mjModel& m) {
  std::vector<ModelParameter> all;
  const auto add = [&](ModelParameter::Kind kind, auto count) {
    for (int k = 0; k < count; ++k) {
      const ModelParameter parameter{kind, k};
      if (number_in_file(m, parameter, 0) != 0 || number_in_file(m, parameter, 1) != 0 ||
          number_in_file(m, parameter, 2) != 0)
        all.push_back(parameter);
    }
  };
  add(ModelParameter::friction, m.ngeom), add(ModelParameter::center_of_mass, m.nbody);
  add(ModelParameter::mass, m.nbody), add(ModelParameter::joint, m.nv), add(ModelParameter::spring, m.njnt);
  add(ModelParameter::actuator, m.nu), add(ModelParameter::motor, m.nu), add(ModelParameter::gravity, 1);
  add(ModelParameter::push, m.nbody), add(ModelParameter::network, m.nu);
  add(ModelParameter::push_torque, m.nbody), add(ModelParameter::range, m.njnt);
  add(ModelParameter::site_position, m.nsite), add(ModelParameter::site_turn, m.nsite);
  add(ModelParameter::size, m.ngeom);
  return all;
}

// Returns whether `text` has the form of `pattern`, in which * stands for any letters.
inline bool matches(const char* pattern, const char* text) {
  if (*pattern == '*') return matches(pattern + 1, text) || (*text != 0 && matches(pattern, text + 1));
  return *pattern == *text && (*text == 0 || matches(pattern + 1, text + 1));
}

// The ranges of all numbers of a model's parameters.
class ModelRanges {
 public:
  // `frame_skip` is the number of time steps of a step of the task. `text` has a line "QUANTITY NAME LOW HIGH" for each
  // range. NAME may contain *; later lines replace earlier ones. NAME.x is one axis. * alone pushes only the roots of
  // trees. Throws std::invalid_argument if a line cannot be satisfied.
  ModelRanges(const mjModel& m, int frame_skip, const std::string& text)
      : m_(m), frame_skip_(frame_skip), parameters_(randomisable(m)) {
    for (const ModelParameter& parameter : parameters_)
      for (int k = 0; k < 3; ++k)
        for (int end = 0; end < 2; ++end)
          bounds_.push_back(static_cast<float>(ModelParameter::unchanged(parameter.kind, k)));
    std::istringstream lines(text);
    std::string quantity, name;
    for (double low = 0, high = 0; lines >> quantity >> name >> low >> high;)
      set(quantity, name, low, quantity == "motor_delay" ? high + 0.9999 : high);
    require_masses(), require_whole_motors(), require_own_gains(), require_whole_pushes(), require_sizes();
  }

  const std::vector<ModelParameter>& parameters() const { return parameters_; }
  // [3 * parameters, 2]: the lower and the upper bound of each number.
  const std::vector<float>& bounds() const { return bounds_; }
  // Returns whether any environment changes a number of this parameter. An actuator that a network drives is changed
  // too, because change_model() multiplies what the actuator's own factors give.
  bool changes(size_t parameter) const {
    const ModelParameter& of = parameters_[parameter];
    for (size_t p = 0; p < parameters_.size() && of.kind == ModelParameter::actuator; ++p)
      if (parameters_[p].kind == ModelParameter::network && parameters_[p].index == of.index && changes(p)) return true;
    for (size_t k = 0; k < 6; ++k)
      if (bounds_[6 * parameter + k] != static_cast<float>(ModelParameter::unchanged(of.kind, static_cast<int>(k / 2))))
        return true;
    return false;
  }

 private:
  std::string name_of(const ModelParameter& of, int k) const {
    mjtObj type = mjOBJ_BODY;
    int index = of.index;
    if (of.kind == ModelParameter::gravity) return std::string(1, "xyz"[k]);
    if (of.kind == ModelParameter::friction || of.kind == ModelParameter::size) type = mjOBJ_GEOM;
    if (of.kind == ModelParameter::joint) type = mjOBJ_JOINT, index = m_.dof_jntid[of.index];
    if (of.kind == ModelParameter::spring || of.kind == ModelParameter::range) type = mjOBJ_JOINT;
    if (of.kind == ModelParameter::site_position || of.kind == ModelParameter::site_turn) type = mjOBJ_SITE;
    if (of.kind == ModelParameter::actuator || of.kind == ModelParameter::motor || of.kind == ModelParameter::network)
      type = mjOBJ_ACTUATOR;
    const char* name = mj_id2name(&m_, type, index);
    return name ? name : "";
  }
  // Returns whether a pattern means number `axis` (or, if it is -1, the only number) of an element: NAME means all
  // three axes, NAME.x, NAME.y or NAME.z one.
  static bool fits(const std::string& pattern, const std::string& name, int axis) {
    if (matches(pattern.c_str(), name.c_str())) return true;
    const size_t dot = pattern.rfind('.');
    return axis >= 0 && dot != std::string::npos && pattern.substr(dot + 1) == std::string(1, "xyz"[axis]) &&
           matches(pattern.substr(0, dot).c_str(), name.c_str());
  }
  void set(const std::string& name, const std::string& pattern, double low, double high) {
    const ModelQuantity* quantity = name == kMotorNetwork.name ? &kMotorNetwork : nullptr;
    for (const ModelQuantity& each : kModelQuantities)
      if (name == each.name) quantity = &each;
    if (!quantity) throw std::invalid_argument("env.dr." + name + " is not a quantity of a robot's model");
    // The parameter is the factor less 1.
    if (quantity->kind == ModelParameter::mass && quantity->number == 2) low -= 1, high -= 1;
    std::vector<std::string> names;  // of the elements that have the quantity
    bool is_set = false;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      const ModelParameter& parameter = parameters_[p];
      if (parameter.kind != quantity->kind) continue;
      for (int k = 0; k < 3; ++k) {
        if (quantity->number >= 0 ? k != quantity->number : false) continue;
        if (number_in_file(m_, parameter, k) == 0) continue;
        names.push_back(name_of(parameter, k));
        if (!fits(pattern, names.back(), quantity->number < 0 ? k : -1)) continue;
        const bool is_push = parameter.kind == ModelParameter::push || parameter.kind == ModelParameter::push_torque;
        if (is_push && pattern == "*" && !is_root(m_, parameter.index)) continue;
        bounds_[6 * p + 2 * static_cast<size_t>(k)] = static_cast<float>(low);
        bounds_[6 * p + 2 * static_cast<size_t>(k) + 1] = static_cast<float>(high);
        is_set = true;
      }
    }
    if (quantity->kind == ModelParameter::motor && quantity->number == 2 && (low < 0 || high > frame_skip_ + 1))
      throw std::invalid_argument("--env.dr.motor_delay goes to " + std::to_string(static_cast<int>(high)) +
                                  " time steps (a step of the task has " + std::to_string(frame_skip_) +
                                  "): add whole steps by --env.delay.action");
    if (!is_set) throw std::invalid_argument(trouble(*quantity, pattern, names));
  }
  std::string trouble(const ModelQuantity& quantity, const std::string& pattern,
                      const std::vector<std::string>& names) const {
    const std::string option = std::string("--env.dr.") + quantity.name, what = quantity.what;
    if (names.empty())
      return option + " has no effect (no " + what + " of the robot " + quantity.lacks + "): leave it out";
    std::string nearest;
    for (const std::string& name : names)
      if (!name.empty() && (nearest.empty() || edit_distance(pattern, name) < edit_distance(pattern, nearest)))
        nearest = name;
    const std::string name = quantity.name;
    const std::string given = name == "motor_network"     ? option + "_of"
                              : name.starts_with("push_") ? option + " (or push_body)"
                                                          : option;
    return given + ": no " + what + " that can have it is called '" + pattern + "'" +
           (nearest.empty() ? "" : ": did you mean '" + nearest + "'?");
  }
  // Throws if a mass could become 0 or negative.
  void require_masses() const {
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if (parameters_[p].kind != ModelParameter::mass) continue;
      const double mass = m_.body_mass[parameters_[p].index];
      const double least = static_cast<double>(bounds_[6 * p]) * mass + static_cast<double>(bounds_[6 * p + 2]);
      if (least <= 0)
        throw std::invalid_argument("--env.dr.body_mass and --env.dr.added_mass would give the body '" +
                                    name_of(parameters_[p], 0) + "' of " + std::to_string(mass) + " kg a mass of " +
                                    std::to_string(least) + " kg: make the ranges smaller");
    }
  }

  // Throws if a motor has only one end of the line from its stall torque to its no-load speed.
  void require_whole_motors() const {
    for (size_t p = 0; p < parameters_.size(); ++p)
      if (parameters_[p].kind == ModelParameter::motor &&
          (bounds_[6 * p] == kNoMotor) != (bounds_[6 * p + 2] == kNoMotor))
        throw std::invalid_argument("the motor '" + name_of(parameters_[p], 0) +
                                    "' has only one of --env.dr.stall_torque and --env.dr.no_load_speed (its torque "
                                    "falls from the one to 0 at the other): give both");
  }

  // Throws if gains are changed only of actuators that a network drives.
  void require_own_gains() const {
    int without_effect = -1;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if (parameters_[p].kind != ModelParameter::actuator) continue;
      if (!std::any_of(&bounds_[6 * p], &bounds_[6 * p + 4], [](float x) { return x != 1; })) continue;
      bool is_driven = false;
      for (size_t n = 0; n < parameters_.size(); ++n)
        is_driven = is_driven || (parameters_[n].kind == ModelParameter::network &&
                                  parameters_[n].index == parameters_[p].index && bounds_[6 * n] == 0);
      if (!is_driven) return;
      without_effect = static_cast<int>(p);
    }
    if (without_effect >= 0)
      throw std::invalid_argument(
          "--env.dr.kp and --env.dr.kd have no effect (--env.dr.motor_network replaces the "
          "force of '" +
          name_of(parameters_[static_cast<size_t>(without_effect)], 0) + "'): leave them out");
  }

  // Throws if a geom could grow too much.
  void require_sizes() const {
    for (size_t p = 0; p < parameters_.size(); ++p)
      if (parameters_[p].kind == ModelParameter::size)
        if (const float most = std::max(1.0f, bounds_[6 * p + 1]) * bounds_[6 * p + 3];
            most > ModelParameter::kMostGrowth)
          throw std::invalid_argument((std::ostringstream()
                                       << "--env.dr.geom_size and --env.dr.geom_radius would make the geom '"
                                       << name_of(parameters_[p], 0) << "' " << most << " times as large ("
                                       << ModelParameter::kMostGrowth << " is the most): give smaller factors")
                                          .str());
  }

  // Returns whether pushes on a body have a torque.
  bool has_torque(int body) const {
    for (size_t p = 0; p < parameters_.size(); ++p)
      if (parameters_[p].kind == ModelParameter::push_torque && parameters_[p].index == body)
        return bounds_[6 * p + 1] > 0;
    return false;
  }
  // Throws if a push lacks its force and torque, its interval or its duration.
  void require_whole_pushes() const {
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if (parameters_[p].kind != ModelParameter::push) continue;
      const float *force = &bounds_[6 * p], *interval = force + 2, *duration = force + 4;
      const int given = (force[1] > 0 || has_torque(parameters_[p].index) ? 1 : 0) + (interval[1] > 0 ? 1 : 0) +
                        (duration[1] > 0 ? 1 : 0);
      if (given != 0 && given != 3)
        throw std::invalid_argument("pushes on the body '" + name_of(parameters_[p], 0) +
                                    "' lack one of --env.dr.push_force (or push_torque), push_interval and "
                                    "push_duration: give all three");
    }
  }

  static constexpr float kNoMotor = static_cast<float>(ModelParameter::unchanged(ModelParameter::motor, 0));
  const mjModel& m_;
  int frame_skip_;
  std::vector<ModelParameter> parameters_;
  std::vector<float> bounds_;
};

// Sets numbers of `to`, a copy of the model `file`, to those of the file changed by an environment's numbers `x` [3] of
// a parameter. The limits of motors change with their speed: see limit_motor().
inline void change_model(const mjModel& file, const ModelParameter& of, const double* x, mjModel& to) {
  const int i = of.index;
  switch (of.kind) {
    case ModelParameter::friction:
      for (int k = 0; k < 3; ++k) to.geom_friction[3 * i + k] = file.geom_friction[3 * i + k] * x[0];
      return;
    case ModelParameter::center_of_mass:
      // MuJoCo's midphase places its bounding volumes relative to the centre of mass, and would miss contacts.
      to.opt.disableflags |= mjDSBL_MIDPHASE;
      for (int k = 0; k < 3; ++k) to.body_ipos[3 * i + k] = file.body_ipos[3 * i + k] + x[k];
      return;
    case ModelParameter::mass:
      to.body_mass[i] = file.body_mass[i] * x[0] + x[1];
      for (int k = 0; k < 3; ++k)
        to.body_inertia[3 * i + k] = file.body_inertia[3 * i + k] * (to.body_mass[i] / file.body_mass[i]) * (1 + x[2]);
      return;
    case ModelParameter::joint:
      to.dof_damping[i] = file.dof_damping[i] * x[0];
      to.dof_armature[i] = file.dof_armature[i] * x[1];
      to.dof_frictionloss[i] = file.dof_frictionloss[i] * x[2];
      return;
    case ModelParameter::spring:
      to.jnt_stiffness[i] = file.jnt_stiffness[i] * x[0];
      return;
    case ModelParameter::actuator: {
      const mjtNum *gain = file.actuator_gainprm + mjNGAIN * i, *bias = file.actuator_biasprm + mjNBIAS * i;
      mjtNum *new_gain = to.actuator_gainprm + mjNGAIN * i, *new_bias = to.actuator_biasprm + mjNBIAS * i;
      if (file.actuator_gaintype[i] <= mjGAIN_AFFINE && file.actuator_biastype[i] <= mjBIAS_AFFINE) {
        new_gain[0] = gain[0] * x[0], new_gain[1] = gain[1] * x[0], new_gain[2] = gain[2] * x[1];
        new_bias[0] = bias[0], new_bias[1] = bias[1] * x[0], new_bias[2] = bias[2] * x[1];
      }
      for (int k = 0; k < 2; ++k) to.actuator_forcerange[2 * i + k] = file.actuator_forcerange[2 * i + k] * x[2];
      return;
    }
    case ModelParameter::gravity:
      for (int k = 0; k < 3; ++k) to.opt.gravity[k] = file.opt.gravity[k] + x[k];
      return;
    case ModelParameter::network: {
      // The actuator's own factors have set these numbers before.
      mjtNum *gain = to.actuator_gainprm + mjNGAIN * i, *bias = to.actuator_biasprm + mjNBIAS * i;
      for (int k = 0; k < 3; ++k) gain[k] *= x[0], bias[k] *= x[0];
      bias[0] += x[1];
      return;
    }
    case ModelParameter::range: {
      const mjtNum* range = file.jnt_range + 2 * i;
      const double middle = 0.5 * (range[0] + range[1]) + x[1], half = 0.5 * (range[1] - range[0]) * x[0];
      to.jnt_range[2 * i] = middle - half, to.jnt_range[2 * i + 1] = middle + half;
      return;
    }
    case ModelParameter::size: {
      to.opt.disableflags |= mjDSBL_MIDPHASE;  // its bounding volumes are those of the file
      const double radius = file.geom_size[3 * i] * x[0] * x[1];
      const bool is_round = file.geom_type[i] == mjGEOM_SPHERE || file.geom_type[i] == mjGEOM_CAPSULE;
      for (int k = 0; k < 3; ++k) {
        to.geom_size[3 * i + k] = file.geom_size[3 * i + k] * x[1];
        to.geom_aabb[6 * i + 3 + k] = file.geom_aabb[6 * i + 3 + k] * x[1];
      }
      to.geom_rbound[i] = file.geom_rbound[i] * x[1];
      if (!is_round) return;
      const double length = file.geom_type[i] == mjGEOM_CAPSULE ? to.geom_size[3 * i + 1] : 0;
      to.geom_size[3 * i] = radius, to.geom_rbound[i] = radius + length;
      for (int k = 0; k < 3; ++k) to.geom_aabb[6 * i + 3 + k] = k == 2 ? radius + length : radius;
      return;
    }
    case ModelParameter::site_position:
      to.site_sameframe[i] = mjSAMEFRAME_NONE;
      for (int k = 0; k < 3; ++k) to.site_pos[3 * i + k] = file.site_pos[3 * i + k] + x[k];
      return;
    case ModelParameter::site_turn: {
      to.site_sameframe[i] = mjSAMEFRAME_NONE;
      std::copy_n(file.site_quat + 4 * i, 4, to.site_quat + 4 * i);
      for (int k = 0; k < 3; ++k) {
        mjtNum by[4] = {std::cos(0.5 * x[k]), 0, 0, 0}, before[4];
        by[1 + k] = std::sin(0.5 * x[k]);
        std::copy_n(to.site_quat + 4 * i, 4, before);
        mju_mulQuat(to.site_quat + 4 * i, before, by);
      }
      return;
    }
    case ModelParameter::motor:
    case ModelParameter::push:
    case ModelParameter::push_torque:
      return;
  }
}

// Calls body(numbers, count) for each array of numbers that MuJoCo derives from others (mj_setConst) and a step reads.
template <class Model, class Body>
void each_derived(Model& m, const Body& body) {
  body(m.body_subtreemass, m.nbody), body(m.body_invweight0, 2 * m.nbody);
  body(m.dof_M0, m.nv), body(m.dof_invweight0, m.nv);
  body(m.tendon_length0, m.ntendon), body(m.tendon_invweight0, m.ntendon);
  body(m.actuator_length0, m.nu), body(m.actuator_acc0, m.nu), body(&m.stat.meaninertia, 1);
}
inline size_t count_derived(const mjModel& m) {
  size_t count = 0;
  each_derived(m, [&](const mjtNum*, auto n) { count += static_cast<size_t>(n); });
  return count;
}
// Computes these numbers of a model that has been changed.
inline void finish_changes(mjModel& m) {
  mjData* data = mj_makeData(&m);
  if (!data) throw std::invalid_argument("MuJoCo cannot allocate the model's data");
  mj_setConst(&m, data);
  mj_deleteData(data);
}

// Sets the force range of an actuator to what a motor can exert at its present speed: that of the file times `share`,
// narrowed by the line from the stall torque x[0] to the no-load speed x[1], in four quadrants (Isaac Lab's DCMotor).
inline void limit_motor(const mjModel& file, int a, const mjtNum* qvel, const double* x, double share, mjModel& to) {
  const double speed = file.actuator_gear[6 * a] * qvel[file.jnt_dofadr[file.actuator_trnid[2 * a]]] / x[1];
  mjtNum* range = to.actuator_forcerange + 2 * a;
  for (int k = 0; k < 2; ++k) {
    const double line = x[0] * ((k == 0 ? -1 : 1) - speed);
    const mjtNum* own = file.actuator_forcerange + 2 * a;
    range[k] = file.actuator_forcelimited[a] ? std::clamp(line, own[0] * share, own[1] * share) : line;
  }
  to.actuator_forcelimited[a] = 1;
}

}  // namespace drl
