// The base of four-legged robots in velocity tasks. It has mjlab's numbers for Go1, which a robot can replace. For
// example:
//
//   struct Go2 : drl::velocity::Quadruped {
//     static constexpr const char* name = "Go2-Velocity-Flat";
//     static constexpr char description[] = "a quadruped (Unitree Go2) walks at a commanded velocity";
//     static constexpr drl::RobotModel model{"go2.xml", 4};
//     static constexpr drl::velocity::Motor hip{23.7, 25, 0.5}, knee{45.43, 25, 0.5};
//     static constexpr drl::velocity::Joint joints[] = {hip_joint("FL_hip_joint", 0.1, hip), ...};
//     static constexpr const char *root = "base", *torso = "base";
//     static constexpr double height = 0.333;  // m, of the root at the start
//   };
#pragma once

#include "drl/robots/velocity.hpp"

namespace drl::velocity {

struct Quadruped {
  static constexpr const char *base = "floating_base_joint", *self_contact = nullptr;
  // A mirror exchanges parts whose names begin with the texts of a pair of `sides`, and reverses joints whose names
  // contain a text of `flips`.
  static constexpr bool is_symmetric = true;
  static constexpr const char *sides[][2] = {{"FR", "FL"}, {"RR", "RL"}}, *flips[] = {"_hip_"};

  // A joint that moves a whole leg, and a knee, with the deviations that are tolerated.
  static constexpr Joint hip_joint(const char* name, double angle, const Motor& motor) {
    return {name, angle, motor, 0.05, 0.3, 0.3};
  }
  static constexpr Joint knee_joint(const char* name, double angle, const Motor& motor) {
    return {name, angle, motor, 0.1, 0.6, 0.6};
  }

  static constexpr Foot feet[] = {
      {"FR", "FR_foot", "FR_contact"},
      {"FL", "FL_foot", "FL_contact"},
      {"RR", "RR_foot", "RR_contact"},
      {"RL", "RL_foot", "RL_contact"},
  };
  static constexpr const char* foot_geoms[] = {"FR", "FL", "RR", "RL"};

  static constexpr auto reward_terms = velocity::reward_terms(0, 0);
  static constexpr double gate_speed = 0.1;  // m/s, the error that the gate allows

  // Draws an environment's sliding, torsional and rolling friction of the feet.
  template <class F>
  DRL_HD static Vec<F, 3> friction(Draws<F>& draws) {
    const F sliding = draws.uniform(F(0.3), F(1.5)), torsional = log_uniform(draws, 1e-4, 2e-2);
    return {{sliding, torsional, log_uniform(draws, 1e-5, 5e-3)}};
  }
};

}  // namespace drl::velocity
