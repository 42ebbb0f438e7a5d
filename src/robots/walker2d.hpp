// Walker2d-v5 of Gymnasium 1.4.0 (envs/mujoco/walker2d_v5.py): a robot with two legs walks forwards in a
// plane and must not fall.
#pragma once

#include "robots/runner.hpp"

namespace drl {

struct Walker2dConfig : gym::RunsHealthily {
  static constexpr const char* name = "Walker2d-v5";
  static constexpr char description[] = "a planar two-legged robot walks forwards";
  static constexpr int joints = 6, obs_dim = 17;
  static constexpr double dt = 0.008;
  static constexpr Quantity observations[] = {{"qpos", "", 8}, {"qvel", "", 9}};
  static constexpr Quantity actions[] = {{"torque", "N m", 6, 100}};
  static constexpr RobotModel model{"walker2d.xml", 4};
  static constexpr double healthy_z[] = {0.8, 2}, healthy_angle[] = {-1, 1};
};

template <class R>
struct Walker2d : gym::Runner<R, Walker2dConfig> {};

}  // namespace drl

DRL_ROBOT(drl::Walker2d)
