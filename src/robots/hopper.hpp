// Hopper-v5 of Gymnasium 1.4.0 (envs/mujoco/hopper_v5.py): a robot with one leg hops forwards and must
// not fall.
#pragma once

#include "robots/runner.hpp"

namespace drl {

struct HopperConfig : gym::RunsHealthily {
  static constexpr const char* name = "Hopper-v5";
  static constexpr char description[] = "a planar one-legged robot hops forwards";
  static constexpr int joints = 3, obs_dim = 11;
  static constexpr double dt = 0.008;
  static constexpr Quantity observations[] = {{"qpos", "", 5}, {"qvel", "", 6}};
  static constexpr Quantity actions[] = {{"torque", "N m", 3, 200}};
  static constexpr RobotModel model{"hopper.xml", 4};
  static constexpr bool bounds_state = true;
  static constexpr double healthy_z[] = {0.7, gym::kNone}, healthy_angle[] = {-0.2, 0.2};
};

template <class R>
struct Hopper : gym::Runner<R, HopperConfig> {};

}  // namespace drl

DRL_ROBOT(drl::Hopper)
