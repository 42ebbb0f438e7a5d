// Swimmer-v5 of Gymnasium 1.4.0 (envs/mujoco/swimmer_v5.py): three links with two joints swim in a viscous
// fluid.
#pragma once

#include "robots/runner.hpp"

namespace drl {

struct SwimmerConfig : gym::Runs {
  static constexpr const char* name = "Swimmer-v5";
  static constexpr char description[] = "a planar chain of three links swims forwards";
  static constexpr int joints = 2, obs_dim = 8, hidden = 2;
  static constexpr double dt = 0.04;
  static constexpr Quantity observations[] = {{"qpos", "rad", 3}, {"qvel", "", 5}};
  static constexpr Quantity actions[] = {{"torque", "N m", 2, 150}};
  static constexpr RobotModel model{"swimmer.xml", 4};
  static constexpr const char* metrics[] = {"x_velocity", "y_velocity"};  // m/s
  static constexpr double ctrl_cost_weight = 1e-4, reset_noise_scale = 0.1;
  static constexpr auto preset =
      gym::preset({.num_envs = "4", .num_steps_per_env = "256", .gamma = "0.9999", .lam = "0.98"});
};

template <class R>
struct Swimmer : gym::Runner<R, SwimmerConfig> {};

}  // namespace drl

DRL_ROBOT(drl::Swimmer)
