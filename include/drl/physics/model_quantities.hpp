// The quantities of a robot's model that options may change (--env.dr, docs/howto/randomisation.md).
#pragma once

#include <array>

#include "drl/physics/parameter.hpp"

namespace drl {

// Says which numbers the range of a quantity may hold.
enum class LeastOfRange { any, zero, above_zero };

// A quantity is the numbers `number` of all parameters of a kind.
struct ModelQuantity {
  const char *name, *help = "", *unit = "";  // of its option
  LeastOfRange least = LeastOfRange::any;
  ModelParameter::Kind kind;
  int number = 0;     // -1: all three, each drawn on its own
  const char* what;   // whose quantity it is: "body", "joint", "actuator", "geom", "site" or "axis"
  const char* lacks;  // "no joint of the robot <lacks>"
};
inline constexpr const char* kDrives = "drives a hinge or a slide (without the integrator RK4)";
inline constexpr const char* kMoves = "has a joint and a mass";
inline constexpr const char* kIsLimited = "is a hinge or a slide with a range";
inline constexpr const char* kHasSensor =
    "has a gyro, velocimeter, accelerometer or magnetometer, and no actuator, tendon or equality";
// In the order of their options.
inline constexpr auto kModelQuantities = [] {
  using enum LeastOfRange;
  using P = ModelParameter;
  return std::to_array<ModelQuantity>({
      {"body_mass", "factor of the masses and inertias of bodies", "", zero, P::mass, 0, "body",
       "that moves has a mass"},
      {"added_mass", "mass added to bodies, whose inertias grow in proportion", "kg", any, P::mass, 1, "body",
       "that moves has a mass"},
      {"body_inertia", "factor of the inertias of bodies, in addition to what body_mass and added_mass do", "",
       above_zero, P::mass, 2, "body", "that moves has a mass and an inertia"},
      {"center_of_mass", "shift of the centres of mass of bodies along each axis", "m", any, P::center_of_mass, -1,
       "body", "that moves has an inertial frame of its own"},
      {"joint_damping", "factor of the damping of joints", "", zero, P::joint, 0, "joint", "has damping"},
      {"joint_armature", "factor of the armature of joints", "", zero, P::joint, 1, "joint", "has armature"},
      {"joint_friction", "factor of the dry friction of joints", "", zero, P::joint, 2, "joint",
       "has dry friction (frictionloss)"},
      {"joint_stiffness", "factor of the stiffness of joints' springs", "", zero, P::spring, 0, "joint",
       "has a spring (stiffness)"},
      {"kp", "factor of the actuators' gains: of a position controller, its stiffness", "", zero, P::actuator, 0,
       "actuator", "has a gain"},
      {"kd", "factor of the actuators' gains on velocity: of a position controller, its damping", "", zero, P::actuator,
       1, "actuator", "has a gain on its velocity (kv)"},
      {"effort_limit", "factor of the actuators' force ranges", "", zero, P::actuator, 2, "actuator",
       "has a forcerange"},
      {"stall_torque", "makes actuators DC motors with this torque at rest", "N m or N", above_zero, P::motor, 0,
       "actuator", kDrives},
      {"no_load_speed", "makes actuators DC motors, whose torque falls to 0 at this speed", "rad/s or m/s", above_zero,
       P::motor, 1, "actuator", kDrives},
      {"motor_delay", "delay of the actuators' controls, at most a step of the task", "time steps of the physics", zero,
       P::motor, 2, "actuator", kDrives},
      {"geom_radius", "factor of the radii of spheres and capsules, at most 1.5", "", above_zero, P::size, 0, "geom",
       "moves and is a sphere or a capsule that can touch another one, in a model without height fields"},
      {"geom_size", "factor of all sizes of geoms, at most 1.5; masses stay", "", above_zero, P::size, 1, "geom",
       "moves, is no mesh, and can touch another one, in a model without height fields"},
      {"geom_friction", "factor of the friction coefficients of geoms", "", zero, P::friction, 0, "geom",
       "can touch another one"},
      {"push_force", "pushes robots: horizontal force on a root body, in a random direction", "N", zero, P::push, 0,
       "body", kMoves},
      {"push_torque", "pushes robots: torque on a root body, about a random axis", "N m", zero, P::push_torque, 0,
       "body", kMoves},
      {"push_interval", "time from one push to the next", "s", above_zero, P::push, 1, "body", kMoves},
      {"push_duration", "duration of a push", "s", above_zero, P::push, 2, "body", kMoves},
      {"joint_range", "factor of the width of joints' ranges", "", above_zero, P::range, 0, "joint", kIsLimited},
      {"joint_range_shift", "shift of joints' ranges", "rad or m", any, P::range, 1, "joint", kIsLimited},
      {"site_position", "shift of the sites of inertial sensors along each axis", "m", any, P::site_position, -1,
       "site", kHasSensor},
      {"site_turn", "angles by which the sites of inertial sensors are turned about each axis", "rad", any,
       P::site_turn, -1, "site", kHasSensor},
      {"gravity", "change of gravity along each axis (x, y, z)", "m/s^2", any, P::gravity, -1, "axis", ""},
  });
}();
// The actuators that a network drives have options of their own (src/envs/model_options.cpp).
inline constexpr ModelQuantity kMotorNetwork{.name = "motor_network",
                                             .kind = ModelParameter::network,
                                             .what = "actuator",
                                             .lacks = "is a position controller of a hinge or a slide"};

}  // namespace drl
