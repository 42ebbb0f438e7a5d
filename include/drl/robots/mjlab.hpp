// Shared code of the robots of mjlab's tasks: a robot with a motor in each joint, whose friction and masses differ
// slightly between environments.
#pragma once

#include <array>
#include <iterator>

#include "drl/robots/common.hpp"

namespace drl::mjlab {

using namespace common;

// A motor with a position controller.
struct Motor {
  double torque;              // N m, the limit at rest
  double stiffness, damping;  // N m/rad, N m s/rad
  // Returns the rad per unit of the action: a quarter of the angle error at which the motor reaches its torque limit.
  constexpr double action_scale() const { return 0.25 * torque / stiffness; }
};
struct Joint {
  const char* name;
  double angle;  // rad, at the start and for action 0
  Motor motor;
  double standing, walking, running;  // rad, tolerated deviation from `angle` while the robot stands, walks or runs
};
// The names of a foot's site (where it touches the floor), its body and its contact sensor.
struct Foot {
  const char *site, *body, *contact;
};

// Returns a task's actions, the targets of the joints' position controllers.
template <class Config>
constexpr auto joint_targets() {
  std::array<Quantity, std::size(Config::joints)> all{};
  for (size_t k = 0; k < all.size(); ++k) {
    const Joint& joint = Config::joints[k];
    Quantity& target = all[k];  // nvcc loses members of designated initialisers here
    target.name = joint.name, target.unit = "rad";
    target.scale = joint.motor.action_scale(), target.offset = joint.angle;
    target.stiffness = joint.motor.stiffness, target.damping = joint.motor.damping;
  }
  return all;
}

// A joint's numbers without its name. GPUs can index a table at run time only if it is inside a function, which depends
// on F because units of different instruction sets would share the table otherwise.
struct Pose {
  double angle, action_scale, standing, walking, running;
};
template <class F, class Config>
DRL_HD const Pose& pose_of(int k) {
  struct Poses {
    Pose of[std::size(Config::joints)];
  };
  static constexpr Poses all = [] {
    Poses poses{};
    for (size_t j = 0; j < std::size(poses.of); ++j) {
      const Joint& joint = Config::joints[j];
      poses.of[j] = {joint.angle, joint.motor.action_scale(), joint.standing, joint.walking, joint.running};
    }
    return poses;
  }();
  return all.of[k];
}

// Sets the friction of the feet and the centre of mass that an environment has drawn.
template <class State, class R, class Geoms>
DRL_HD void apply_drawn(const State& s, R& robot, const Geoms& feet, BodyId torso) {
  for (const GeomId geom : feet) robot.set_friction(geom, {{s.friction[0], s.friction[1], s.friction[2]}});
  robot.shift_center_of_mass(torso, {{s.com_shift[0], s.com_shift[1], s.com_shift[2]}});
}
// Returns 1 if the force of a contact sensor is over 10 N, else 0.
template <class R, class F = typename R::F>
DRL_HD F is_pressed(const R& robot, SensorId contact) {
  const F force[3] = {robot.sensor(contact, 1), robot.sensor(contact, 2), robot.sensor(contact, 3)};
  return math::select(norm(force, 3) > F(10), F(1), F(0));
}
// Returns the velocity of a point of a body, in m/s in world coordinates. `root` is the root of the body's tree.
template <class R, class F = typename R::F>
DRL_HD Vec<F, 3> velocity_at(const R& robot, BodyId root, BodyId body, const Vec<F, 3>& point) {
  const Vec<F, 6> cvel = robot.velocity(body);
  const Vec<F, 3> arm = difference(point, robot.subtree_center_of_mass(root));
  const Vec<F, 3> rotation = cross({{cvel[0], cvel[1], cvel[2]}}, arm);
  return {{cvel[3] + rotation[0], cvel[4] + rotation[1], cvel[5] + rotation[2]}};
}
template <class R, class F = typename R::F>
DRL_HD Vec<F, 3> angular_velocity_of(const R& robot, BodyId body) {
  const Vec<F, 6> cvel = robot.velocity(body);
  return {{cvel[0], cvel[1], cvel[2]}};
}
// Sets the velocity of a free joint where `is_set`. Both velocities are in world coordinates.
template <class R, class F = typename R::F>
DRL_HD void set_base_velocity(R& robot, JointId base, Mask<F> is_set, const Vec<F, 3>& linear, Vec<F, 3> angular) {
  const int at = base.qpos + 3, to = base.qvel;
  angular = in_body_frame({{robot.qpos(at), robot.qpos(at + 1), robot.qpos(at + 2), robot.qpos(at + 3)}}, angular);
  for (int k = 0; k < 3; ++k) {
    robot.set_qvel(to + k, math::select(is_set, linear[k], robot.qvel(to + k)));
    robot.set_qvel(to + 3 + k, math::select(is_set, angular[k], robot.qvel(to + 3 + k)));
  }
}

}  // namespace drl::mjlab
