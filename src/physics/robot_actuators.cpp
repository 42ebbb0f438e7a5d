#include <cmath>
#include <numbers>
#include <set>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read() {
    for (int a = 0; a < mujoco::count_actuators(m_); ++a) read_actuator(a);
    const bool adheres =
        std::ranges::any_of(r_.actuators, [](const Actuator& a) { return a.acts_on == Actuator::body; });
    for (const Joint& joint : r_.joints)
      if (adheres && joint.force_range)
        refuse("joint '" + joint.name + "': ",
               "a limit of actuators' total force, although actuators adhere to contacts");
    if (r_.implicit_actuators) refuse_dampers_of_simple_bodies();
  }

 private:
  void read_actuator(int a) {
    const std::string where = quoted("actuator", mjOBJ_ACTUATOR, a);
    Actuator actuator{.name = name(mjOBJ_ACTUATOR, a)};
    if (const char* element = mujoco::special_actuator(m_, a)) refuse(where, std::string("an actuator ") + element);
    read_transmission(a, where, actuator);
    if (m_.actuator_plugin[a] >= 0) refuse(where, "a plugin");
    read_dynamics(a, where, actuator);
    if (m_.actuator_delay[a] > 0) refuse(where, "a delay");
    read_gains(a, where, actuator);
    if (actuator.acts_on == Actuator::body && actuator.is_damped())
      refuse(where, "adhesion whose force depends on a velocity");
    const int group = m_.actuator_group[a];
    if (is_off(mjDSBL_ACTUATION) || (group >= 0 && group <= 30 && (m_.opt.disableactuator & (1 << group)) != 0)) {
      const mjtNum* force = m_.actuator_forcerange + 2 * a;
      if (!is_off(mjDSBL_ACTUATION) && m_.actuator_forcelimited[a] && (force[0] > 0 || force[1] < 0))
        refuse(where, "a force range without 0, although its group is switched off");
      actuator.gain = {}, actuator.bias = {}, actuator.muscle_gain = {}, actuator.muscle_bias = {};
      actuator.dynamics = Actuator::constant;
      if (is_off(mjDSBL_ACTUATION)) actuator.activation_range = {};
      r_.actuators.push_back(actuator);
      return;
    }
    if (m_.actuator_ctrllimited[a] && !is_off(mjDSBL_CLAMPCTRL))
      actuator.control_range = {m_.actuator_ctrlrange[2 * a], m_.actuator_ctrlrange[2 * a + 1]};
    if (m_.actuator_forcelimited[a])
      actuator.force_range = {m_.actuator_forcerange[2 * a], m_.actuator_forcerange[2 * a + 1]};
    r_.actuators.push_back(actuator);
  }
  void read_transmission(int a, const std::string& where, Actuator& actuator) {
    const int type = m_.actuator_trntype[a], target = m_.actuator_trnid[2 * a], other = m_.actuator_trnid[2 * a + 1];
    actuator.gear = m_.actuator_gear[6 * a];
    std::copy_n(m_.actuator_gear + 6 * a, 6, actuator.gears.begin());
    const bool is_in_parent = type == mjTRN_JOINTINPARENT;
    if (type == mjTRN_TENDON) {
      actuator.acts_on = Actuator::tendon, actuator.target = target;
    } else if (type == mjTRN_SITE) {
      actuator.acts_on = Actuator::site, actuator.target = target, actuator.from = site(target);
      if (other >= 0) actuator.reference = site(other);
    } else if (type == mjTRN_JOINT || is_in_parent) {
      actuator.target = target;
      if (m_.jnt_type[target] == mjJNT_FREE)
        actuator.acts_on = is_in_parent ? Actuator::free_in_world : Actuator::free_in_body;
      if (m_.jnt_type[target] == mjJNT_BALL)
        actuator.acts_on = is_in_parent ? Actuator::ball_in_parent : Actuator::ball_in_body;
    } else if (type == mjTRN_SLIDERCRANK) {
      actuator.acts_on = Actuator::slider_crank, actuator.target = target;
      actuator.from = site(target), actuator.reference = site(other), actuator.rod = m_.actuator_cranklength[a];
    } else if (type == mjTRN_BODY) {
      actuator.acts_on = Actuator::body, actuator.target = target;
    } else if (!mujoco::special_actuator(m_, a)) {
      refuse(where, "a transmission that is not known");
    }
  }
  Actuator::Site site(int s) const {
    Actuator::Site site{.site = s, .frame = m_.site_bodyid[s]};
    std::copy_n(m_.site_quat + 4 * s, 4, site.quat.begin());
    return site;
  }
  void read_gains(int a, const std::string& where, Actuator& actuator) {
    const mjtNum *gain = m_.actuator_gainprm + mjNGAIN * a, *bias = m_.actuator_biasprm + mjNBIAS * a;
    actuator.gain[0] = gain[0];
    if (mujoco::special_actuator(m_, a)) return;
    if (m_.actuator_gaintype[a] == mjGAIN_AFFINE)
      std::copy_n(gain, 3, actuator.gain.begin());
    else if (m_.actuator_gaintype[a] == mjGAIN_MUSCLE)
      actuator.gain = {}, actuator.muscle_gain = muscle(a, gain);
    else if (m_.actuator_gaintype[a] != mjGAIN_FIXED)
      refuse(where, "a gain of a user's function");
    if (m_.actuator_biastype[a] == mjBIAS_AFFINE)
      std::copy_n(bias, 3, actuator.bias.begin());
    else if (m_.actuator_biastype[a] == mjBIAS_MUSCLE)
      actuator.muscle_bias = muscle(a, bias);
    else if (m_.actuator_biastype[a] != mjBIAS_NONE)
      refuse(where, "a bias of a user's function");
    const bool is_servo = m_.actuator_gaintype[a] == mjGAIN_FIXED && gain[0] != 0 && gain[0] == -actuator.bias[1] &&
                          (actuator.dynamics == Actuator::constant || actuator.dynamics == Actuator::integrator);
    if (mujoco::kServosGoAround && is_servo) read_circle(where, actuator);
  }
  void read_circle(const std::string& where, Actuator& actuator) {
    const auto& g = actuator.gears;
    const bool is_ball = actuator.acts_on == Actuator::ball_in_body || actuator.acts_on == Actuator::ball_in_parent;
    if (is_ball) actuator.circle = 2 * std::numbers::pi * std::hypot(g[0], g[1], g[2]);
    if (actuator.acts_on == Actuator::site && actuator.reference.site >= 0 && g[0] == 0 && g[1] == 0 && g[2] == 0)
      actuator.circle = 2 * std::numbers::pi * std::hypot(g[3], g[4], g[5]);
    // libmujoco also brings the activation to within half a turn of the length, which matters only if it has a range.
    if (actuator.circle > 0 && actuator.dynamics == Actuator::integrator && actuator.activation_range)
      refuse(where, "an activation of a turning servo that has a range");
  }
  Muscle muscle(int a, const mjtNum* prm) const {
    const mjtNum* range = m_.actuator_lengthrange + 2 * a;
    const double unit = std::max(kLeast, (range[1] - range[0]) / std::max(kLeast, prm[1] - prm[0]));
    return {.from = prm[0],
            .start = range[0],
            .unit = unit,
            .force = prm[2] < 0 ? prm[3] / std::max(kLeast, m_.actuator_acc0[a]) : prm[2],
            .shortest = prm[4],
            .longest = prm[5],
            .fastest = prm[6],
            .passive = prm[7],
            .lengthening = prm[8],
            .divides_by_acceleration = prm[2] < 0};
  }
  void read_dynamics(int a, const std::string& where, Actuator& actuator) {
    const int type = m_.actuator_dyntype[a];
    if (type == mjDYN_NONE || mujoco::special_actuator(m_, a)) return;
    if (type == mjDYN_USER || m_.actuator_actnum[a] != 1) return refuse(where, "activation by a user's function");
    actuator.dynamics = type == mjDYN_INTEGRATOR    ? Actuator::integrator
                        : type == mjDYN_FILTER      ? Actuator::filter
                        : type == mjDYN_FILTEREXACT ? Actuator::exact_filter
                                                    : Actuator::muscle;
    actuator.activation = m_.actuator_actadr[a], actuator.is_early = m_.actuator_actearly[a] != 0;
    std::copy_n(m_.actuator_dynprm + mjNDYN * a, 3, actuator.times.begin());
    if (type != mjDYN_MUSCLE) actuator.times[0] = std::max(kLeast, actuator.times[0]);
    if (m_.actuator_actlimited[a])
      actuator.activation_range = {m_.actuator_actrange[2 * a], m_.actuator_actrange[2 * a + 1]};
  }

  // With implicitfast, libmujoco drops the entries of the damping of tendons and actuators that its mass matrix does
  // not have. For a free body, these depend on the body's axes.
  void refuse_dampers_of_simple_bodies() {
    for (size_t t = 0; t < r_.tendons.size(); ++t)
      if (!r_.tendons[t].damping.is_zero() && moves_simple_body(dofs_of_tendon(r_, r_.tendons[t])))
        refuse(quoted("tendon", mjOBJ_TENDON, static_cast<int>(t)), kSimple);
    for (size_t a = 0; a < r_.actuators.size(); ++a)
      if (const Actuator& actuator = r_.actuators[a];
          actuator.is_damped() && moves_simple_body(dofs_of_actuator(r_, actuator)))
        refuse(quoted("actuator", mjOBJ_ACTUATOR, static_cast<int>(a)), kSimple);
  }
  bool moves_simple_body(const std::set<int>& dofs) const {
    return std::ranges::any_of(dofs, [&](int d) {
      const Dof& dof = r_.dofs[d];
      return dof.is_simple && r_.joints[dof.joint].kind == Joint::free && !r_.turns_implicitly(dof.body);
    });
  }
  static constexpr const char* kSimple = "implicit damping on a free body without other joints";
};

}  // namespace

void read_actuators(const mjModel& model, RobotModel& robot) { Reader(model, robot).read(); }

}  // namespace drl::robot_compiler
