// The numbers of a robot's model that options may change per environment, and the ranges from which environments draw
// them (--env.dr, docs/randomisation.md). Numbers that MuJoCo has precomputed for its solver (invweight0) stay those of
// the file.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/parameter.hpp"

namespace drl {

// A quantity that options may change: the numbers `number` of all parameters of a kind.
struct ModelQuantity {
  const char* name;
  ModelParameter::Kind kind;
  int number;         // -1: all three, each drawn on its own
  const char* what;   // whose quantity it is: "body", "joint", "actuator", "geom" or "axis"
  const char* lacks;  // "no joint of the robot <lacks>"
  bool is_factor;
};
inline constexpr ModelQuantity kModelQuantities[] = {
    {"body_mass", ModelParameter::mass, 0, "body", "that moves has a mass", true},
    {"added_mass", ModelParameter::mass, 1, "body", "that moves has a mass", false},
    {"center_of_mass", ModelParameter::center_of_mass, -1, "body", "that moves has an inertial frame of its own",
     false},
    {"joint_damping", ModelParameter::joint, 0, "joint", "has damping", true},
    {"joint_armature", ModelParameter::joint, 1, "joint", "has armature", true},
    {"joint_friction", ModelParameter::joint, 2, "joint", "has dry friction (frictionloss)", true},
    {"joint_stiffness", ModelParameter::spring, 0, "joint", "has a spring (stiffness)", true},
    {"kp", ModelParameter::actuator, 0, "actuator", "has a gain", true},
    {"kd", ModelParameter::actuator, 1, "actuator", "has a gain on its velocity (kv)", true},
    {"effort_limit", ModelParameter::actuator, 2, "actuator", "has a forcerange", true},
    {"stall_torque", ModelParameter::motor, 0, "actuator", "drives a hinge or a slide", false},
    {"no_load_speed", ModelParameter::motor, 1, "actuator", "drives a hinge or a slide", false},
    {"geom_friction", ModelParameter::friction, 0, "geom", "can touch another one", true},
    {"gravity", ModelParameter::gravity, -1, "axis", "", false},
};

// Returns what number `k` of a parameter is in the model's file: 0 if a factor of it would have no effect. For other
// quantities, 1 if the element can have them.
inline double number_in_file(const mjModel& m, const ModelParameter& of, int k) {
  const int i = of.index;
  const auto is_hinge_or_slide = [&](int joint) { return m.jnt_type[joint] >= mjJNT_SLIDE; };
  switch (of.kind) {
    case ModelParameter::mass:
      return i > 0 && m.body_weldid[i] != 0 && k < 2 ? m.body_mass[i] : 0;
    case ModelParameter::center_of_mass:
      return i > 0 && m.body_weldid[i] != 0 && m.body_mass[i] > 0 && has_own_center(m, i) ? 1 : 0;
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
      return k < 2 && m.opt.integrator != mjINT_RK4 && m.actuator_trntype[i] == mjTRN_JOINT &&
                     is_hinge_or_slide(m.actuator_trnid[2 * i])
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
  // `text` has a line "QUANTITY NAME LOW HIGH" for each range. NAME may contain *; later lines replace earlier ones.
  // Throws std::invalid_argument if a line cannot be satisfied.
  ModelRanges(const mjModel& m, const std::string& text) : m_(m), parameters_(randomisable(m)) {
    for (const ModelParameter& parameter : parameters_)
      for (int k = 0; k < 3; ++k)
        for (int end = 0; end < 2; ++end)
          bounds_.push_back(static_cast<float>(ModelParameter::unchanged(parameter.kind, k)));
    std::istringstream lines(text);
    std::string quantity, name;
    for (double low = 0, high = 0; lines >> quantity >> name >> low >> high;) set(quantity, name, low, high);
    require_masses();
  }

  const std::vector<ModelParameter>& parameters() const { return parameters_; }
  // [3 * parameters, 2]: the lower and the upper bound of each number.
  const std::vector<float>& bounds() const { return bounds_; }
  // Returns whether any environment changes a number of this parameter.
  bool changes(size_t parameter) const {
    for (size_t k = 0; k < 6; ++k)
      if (bounds_[6 * parameter + k] !=
          static_cast<float>(ModelParameter::unchanged(parameters_[parameter].kind, static_cast<int>(k / 2))))
        return true;
    return false;
  }

 private:
  std::string name_of(const ModelParameter& of, int k) const {
    mjtObj type = mjOBJ_BODY;
    int index = of.index;
    if (of.kind == ModelParameter::gravity) return std::string(1, "xyz"[k]);
    if (of.kind == ModelParameter::friction) type = mjOBJ_GEOM;
    if (of.kind == ModelParameter::joint) type = mjOBJ_JOINT, index = m_.dof_jntid[of.index];
    if (of.kind == ModelParameter::spring) type = mjOBJ_JOINT;
    if (of.kind == ModelParameter::actuator || of.kind == ModelParameter::motor) type = mjOBJ_ACTUATOR;
    const char* name = mj_id2name(&m_, type, index);
    return name ? name : "";
  }
  void set(const std::string& name, const std::string& pattern, double low, double high) {
    const ModelQuantity* quantity = nullptr;
    for (const ModelQuantity& each : kModelQuantities)
      if (name == each.name) quantity = &each;
    if (!quantity) throw std::invalid_argument("env.dr." + name + " is not a quantity of a robot's model");
    std::vector<std::string> names;  // of the elements that have the quantity
    bool is_set = false;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      const ModelParameter& parameter = parameters_[p];
      if (parameter.kind != quantity->kind) continue;
      for (int k = 0; k < 3; ++k) {
        if (quantity->number >= 0 ? k != quantity->number : false) continue;
        if (number_in_file(m_, parameter, k) == 0) continue;
        names.push_back(name_of(parameter, k));
        if (!matches(pattern.c_str(), names.back().c_str())) continue;
        bounds_[6 * p + 2 * static_cast<size_t>(k)] = static_cast<float>(low);
        bounds_[6 * p + 2 * static_cast<size_t>(k) + 1] = static_cast<float>(high);
        is_set = true;
      }
    }
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
    return option + ": no " + what + " that can have it is called '" + pattern + "'" +
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

  const mjModel& m_;
  std::vector<ModelParameter> parameters_;
  std::vector<float> bounds_;
};

// Sets the numbers of `to` to those of the file, changed as `numbers` [3 * parameters] say.
class ModelChanges {
 public:
  explicit ModelChanges(const mjModel& file) : file_(file) {}

  static void set_friction(const mjModel& file, int geom, const double* coefficients, double factor, mjModel& to) {
    (void)file;
    for (int k = 0; k < 3; ++k) to.geom_friction[3 * geom + k] = factor * coefficients[k];
  }
  void apply(const ModelParameter& of, const double* x, mjModel& to) const {
    const int i = of.index;
    switch (of.kind) {
      case ModelParameter::friction:
        return set_friction(file_, i, file_.geom_friction + 3 * i, x[0], to);
      case ModelParameter::center_of_mass:
        // MuJoCo's midphase places its bounding volumes relative to the centre of mass, and would miss contacts.
        to.opt.disableflags |= mjDSBL_MIDPHASE;
        for (int k = 0; k < 3; ++k) to.body_ipos[3 * i + k] = file_.body_ipos[3 * i + k] + x[k];
        return;
      case ModelParameter::mass:
        to.body_mass[i] = file_.body_mass[i] * x[0] + x[1];
        for (int k = 0; k < 3; ++k)
          to.body_inertia[3 * i + k] = file_.body_inertia[3 * i + k] * (to.body_mass[i] / file_.body_mass[i]);
        return;
      case ModelParameter::joint:
        to.dof_damping[i] = file_.dof_damping[i] * x[0];
        to.dof_armature[i] = file_.dof_armature[i] * x[1];
        to.dof_frictionloss[i] = file_.dof_frictionloss[i] * x[2];
        return;
      case ModelParameter::spring:
        to.jnt_stiffness[i] = file_.jnt_stiffness[i] * x[0];
        return;
      case ModelParameter::actuator: {
        const mjtNum *gain = file_.actuator_gainprm + mjNGAIN * i, *bias = file_.actuator_biasprm + mjNBIAS * i;
        mjtNum *new_gain = to.actuator_gainprm + mjNGAIN * i, *new_bias = to.actuator_biasprm + mjNBIAS * i;
        if (file_.actuator_gaintype[i] <= mjGAIN_AFFINE && file_.actuator_biastype[i] <= mjBIAS_AFFINE) {
          new_gain[0] = gain[0] * x[0], new_gain[1] = gain[1] * x[0], new_gain[2] = gain[2] * x[1];
          new_bias[1] = bias[1] * x[0], new_bias[2] = bias[2] * x[1];
        }
        for (int k = 0; k < 2; ++k) to.actuator_forcerange[2 * i + k] = file_.actuator_forcerange[2 * i + k] * x[2];
        return;
      }
      case ModelParameter::gravity:
        for (int k = 0; k < 3; ++k) to.opt.gravity[k] = file_.opt.gravity[k] + x[k];
        return;
      case ModelParameter::motor:
        return;  // the limits change with the speed
    }
  }
  // Computes what follows from masses, inertias and armatures: the masses of subtrees, and the diagonal of M where
  // MuJoCo takes it from dof_M0.
  static void finish(mjModel& m) {
    for (int b = 0; b < m.nbody; ++b) m.body_subtreemass[b] = m.body_mass[b];
    for (int b = static_cast<int>(m.nbody) - 1; b > 0; --b)
      m.body_subtreemass[m.body_parentid[b]] += m.body_subtreemass[b];
    for (int d = 0; d < m.nv; ++d)
      if (m.dof_simplenum[d] > 0) m.dof_M0[d] = m.dof_armature[d] + simple_inertia(m, d);
  }

 private:
  // A body of MuJoCo's kind `simple` has no children, and its centre and principal axes are those of its frame.
  static double simple_inertia(const mjModel& m, int d) {
    const int joint = m.dof_jntid[d], body = m.dof_bodyid[d], k = d - m.jnt_dofadr[joint];
    const mjtNum* inertia = m.body_inertia + 3 * body;
    if (m.jnt_type[joint] == mjJNT_SLIDE || (m.jnt_type[joint] == mjJNT_FREE && k < 3)) return m.body_mass[body];
    if (m.jnt_type[joint] != mjJNT_HINGE) return inertia[m.jnt_type[joint] == mjJNT_FREE ? k - 3 : k];
    const mjtNum* axis = m.jnt_axis + 3 * joint;
    return axis[0] * axis[0] * inertia[0] + axis[1] * axis[1] * inertia[1] + axis[2] * axis[2] * inertia[2];
  }

  const mjModel& file_;
};

}  // namespace drl
