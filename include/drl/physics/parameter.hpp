// The numbers of a robot's model that may differ between environments. A parameter stands for three of them.
#pragma once

#include "drl/lanes/hd.hpp"

namespace drl {

struct ModelParameter {
  // friction: of a geom (sliding, torsional, rolling). center_of_mass: its shift in a body's frame (m). mass: of a body
  // (factor, added kg, a factor of its inertia less 1, because saved states had 0 here before it existed). joint: of a
  // degree of freedom (factors of damping, armature and dry friction). spring: of a joint (factor of its stiffness).
  // actuator: factors of the gains on position and on velocity, and of the force range. motor: of an actuator (stall
  // torque in N m, no-load speed in rad/s, delay of its control in time steps, of which the fraction does not count).
  // gravity: its change (m/s^2). push: of a body (force in N, interval between two pushes in s, duration in s); for the
  // physics, the force along x, y and z. network: of an actuator (factor of its force, 0 if a network drives it; the
  // network's torque, which is added). push_torque: of a body (torque of a push in N m); for the physics, the torque
  // about x, y and z. range: of a joint (factor of the width of its range, shift of its middle in rad or m).
  // site_position: its shift in its body's frame (m). site_turn: angles about its own axes x, y and z, one after the
  // other (rad). size: of a geom that may touch (factor of the radius of a sphere or capsule, factor of all sizes;
  // their product is at most kMostGrowth).
  enum Kind {
    friction,
    center_of_mass,
    mass,
    joint,
    spring,
    actuator,
    motor,
    gravity,
    push,
    network,
    push_torque,
    range,
    site_position,
    site_turn,
    size
  };
  static constexpr double kMostGrowth = 1.5;  // range finders rely on it
  Kind kind;
  int index;  // MuJoCo's, of the geom, body, degree of freedom, joint, actuator or site; 0 for gravity

  // Returns what number `k` of a parameter is if no environment changes it. That of friction is the first number, a
  // factor of all three coefficients.
  DRL_HD static constexpr double unchanged(Kind kind, int k) {
    if (kind == center_of_mass || kind == gravity || kind == push || (kind == mass && k > 0)) return 0;
    if (kind == push_torque || kind == site_position || kind == site_turn) return 0;
    if (kind == motor) return k < 2 ? 1e30 : 0;
    if (kind == network || kind == range) return k < 1 ? 1 : 0;
    return 1;
  }
};

}  // namespace drl
