#include <algorithm>

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

Expr limited(const Expr& x, const std::optional<std::array<double, 2>>& range) {
  return range ? clamp(x, (*range)[0], (*range)[1]) : x;
}

// How an actuator moves the robot: its length, its velocity, and the derivatives of its length along qvel in the
// solver's axes, all with the gear.
using Transmission = TendonPath;

class Actuators {
 public:
  Actuators(const RobotModel& model, const Kinematics& kinematics, Program& p) : model_(model), k_(kinematics), p_(p) {}

  void trace(Dynamics& d) const {
    for (size_t a = 0; a < model_.actuators.size(); ++a) {
      const Actuator& actuator = model_.actuators[a];
      Expr force = unlimited_force(a);
      if (actuator.acts_on == Actuator::tendon) force = share_of(actuator.target) * force;
      d.actuator_force.push_back(p_.named(limited(force, actuator.force_range), identifier(actuator.name) + "_force"));
      add(a, d.actuator_force.back(), d);
    }
  }

 private:
  static size_t index(int k) { return static_cast<size_t>(k); }
  Expr control(size_t a) const {
    return p_.input(at("ctrl", static_cast<int>(a)), identifier(model_.actuators[a].name) + "_ctrl");
  }

  // Returns an actuator's force before its force range and that of its tendon.
  Expr unlimited_force(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    const Expr signal = limited(control(a), actuator.control_range);
    if (actuator.acts_on == Actuator::joint && actuator.gain[1] == 0 && actuator.gain[2] == 0) {
      const Joint& joint = model_.joints[index(actuator.target)];
      const Expr length = Expr(actuator.gear) * p_.input(at("qpos", joint.qpos), "");
      return Expr(actuator.gain[0]) * signal + Expr(actuator.bias[0]) + Expr(actuator.bias[1]) * length +
             Expr(actuator.bias[2] * actuator.gear) * k_.qvel[index(joint.dof)];
    }
    const Transmission of = transmission(actuator);
    const auto affine = [&](const std::array<double, 3>& x) {
      return Expr(x[0]) + Expr(x[1]) * of.length + Expr(x[2]) * of.velocity;
    };
    return affine(actuator.gain) * signal + affine(actuator.bias);
  }
  // Returns the factor that brings the total force of a tendon's actuators into its range.
  Expr share_of(int tendon) const {
    const auto& range = model_.tendons[index(tendon)].force_range;
    Expr total = 0;
    for (size_t a = 0; a < model_.actuators.size() && range; ++a)
      if (model_.actuators[a].pulls(tendon)) total += unlimited_force(a);
    if (!range || total.is(0)) return 1;
    const auto [low, high] = *range;
    const Expr share = select_less(total, low, Expr(low) / total, select_less(high, total, Expr(high) / total, 1));
    return select_less(total, 0, share, select_less(0, total, share, 1));
  }
  // Returns the damping of what an actuator moves with this gear. It is 0 while the force is at its limit
  // (MuJoCo, "Computation", integrators). As in libmujoco, the control is not limited here.
  Expr damping(size_t a, const Expr& force, double gear) const {
    const Actuator& actuator = model_.actuators[a];
    Expr damping = -actuator.bias[2] * gear * gear;
    if (actuator.gain[2] != 0) damping -= Expr(actuator.gain[2] * gear * gear) * control(a);
    if (!actuator.force_range || damping.is(0)) return damping;
    const auto [low, high] = *actuator.force_range;
    return select_less(low, force, select_less(force, high, damping, 0), 0);
  }
  // Adds an actuator's force and damping along qvel.
  void add(size_t a, const Expr& force, Dynamics& d) const {
    const Actuator& actuator = model_.actuators[a];
    if (actuator.acts_on == Actuator::joint) {
      const auto dof = index(model_.joints[index(actuator.target)].dof);
      d.actuator_torque[dof] += Expr(actuator.gear) * force;
      if (model_.implicit_actuators) d.damping.diagonal[dof] += damping(a, force, actuator.gear);
      return;
    }
    const Transmission of = transmission(actuator);
    for (size_t i = 0; i < of.along.size(); ++i) d.actuator_torque[i] += of.along[i] * force;
    if (model_.implicit_actuators) add_outer_product(model_, of.along, damping(a, force, 1), true, d.damping);
  }

  Transmission transmission(const Actuator& actuator) const {
    Transmission of;
    of.along.resize(model_.dofs.size());
    switch (actuator.acts_on) {
      case Actuator::joint: {
        const Joint& joint = model_.joints[index(actuator.target)];
        of.length = Expr(actuator.gear) * p_.input(at("qpos", joint.qpos), "");
        of.along[index(joint.dof)] = actuator.gear;
        break;
      }
      case Actuator::tendon:
        of = trace_tendon(model_, actuator.target, k_, p_);
        of.length = Expr(actuator.gear) * of.length;
        for (Expr& x : of.along) x = Expr(actuator.gear) * x;
        break;
      case Actuator::site:
        add_site(actuator, of);
        break;
      default:
        add_free_joint(actuator, of);
    }
    of.velocity = 0;
    for (size_t i = 0; i < of.along.size(); ++i) of.velocity += of.along[i] * k_.qvel[i];
    return of;
  }
  static Vec3 force_of(const Actuator& actuator) { return {actuator.gears[0], actuator.gears[1], actuator.gears[2]}; }
  static Vec3 torque_of(const Actuator& actuator) { return {actuator.gears[3], actuator.gears[4], actuator.gears[5]}; }

  void add_free_joint(const Actuator& actuator, Transmission& of) const {
    const auto dof = index(model_.joints[index(actuator.target)].dof);
    const Vec3 force = force_of(actuator);
    Vec3 torque = torque_of(actuator);
    if (actuator.acts_on == Actuator::free_in_body) torque = k_.turn[index(model_.dofs[dof].body)] * torque;
    for (size_t k = 0; k < 3; ++k)
      of.along[dof + k] = force[static_cast<int>(k)], of.along[dof + 3 + k] = torque[static_cast<int>(k)];
  }
  Mat3 turn_of(const Placement& site) const {
    return site.body < 0 ? known(site.turn) : k_.turn[index(site.body)] * known(site.turn);
  }
  void add_site(const Actuator& actuator, Transmission& of) const {
    const bool is_relative = actuator.reference.site >= 0;
    const Placement& site = model_.sites[index(actuator.from.site)];
    const Placement& reference = is_relative ? model_.sites[index(actuator.reference.site)] : site;
    const Mat3 axes = turn_of(reference);
    const Vec3 force = axes * force_of(actuator), torque = axes * torque_of(actuator);
    const BodyPoint point = point_of(site, k_), other = point_of(reference, k_);
    if (is_relative) {
      of.length = dot(transposed(axes) * apart(model_, k_, other, point), force_of(actuator)) +
                  dot(turn_between(actuator), torque_of(actuator));
    }
    const auto push = [&](const BodyPoint& at, size_t i) {
      return dot(k_.axis[i], Spatial{torque + cross(at.arm, force), force});
    };
    for (const int i : dofs_of_actuator(model_, actuator))
      of.along[index(i)] = moves(model_, index(i), site.body) ? push(point, index(i)) : -push(other, index(i));
  }
  // Returns the rotation vector of a site relative to its reference site. As in libmujoco 3.5.0, a site's own rotation
  // comes first, so that this is exact only for sites that are not turned.
  Vec3 turn_between(const Actuator& actuator) const {
    if (actuator.gears[3] == 0 && actuator.gears[4] == 0 && actuator.gears[5] == 0) return {};
    const std::vector<Quat> quats = trace_quaternions(model_, p_);
    const auto known_quat = [](const Quaternion& q) { return Quat{q[0], q[1], q[2], q[3]}; };
    const auto quat_of = [&](const Actuator::Site& site) {
      const Frame& frame = model_.frames[index(site.frame)];
      const Quat own = known_quat(frame.quat), in_world = frame.body < 0 ? own : quats[index(frame.body)] * own;
      return known_quat(site.quat) * in_world;
    };
    const Quat a = quat_of(actuator.from), b = quat_of(actuator.reference);
    return rotation_vector(Quat{b[0], -b[1], -b[2], -b[3]} * a);
  }

  const RobotModel& model_;
  const Kinematics& k_;
  Program& p_;
};

}  // namespace

void trace_actuators(const RobotModel& model, const Kinematics& kinematics, Dynamics& d, Program& p) {
  Actuators(model, kinematics, p).trace(d);
  for (const Joint& joint : model.joints) {
    Expr& torque = d.actuator_torque[static_cast<size_t>(joint.dof)];
    torque = limited(torque, joint.force_range);
  }
}

}  // namespace drl::robot_compiler
