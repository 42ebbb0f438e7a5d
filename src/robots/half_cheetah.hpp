// HalfCheetah-v5 of Gymnasium 1.4.0 (envs/mujoco/half_cheetah_v5.py): a planar cheetah of seven links runs forwards.
#pragma once

#include "robots/runner.hpp"

namespace drl {

struct HalfCheetahConfig : gym::Runs {
  static constexpr const char* name = "HalfCheetah-v5";
  static constexpr char description[] = "a planar two-legged robot runs forwards";
  static constexpr int joints = 6, obs_dim = 17;
  static constexpr double dt = 0.05;
  static constexpr Quantity observations[] = {{"qpos", "", 8}, {"qvel", "", 9}};
  static constexpr Quantity actions[] = {{"back_thigh", "N m", 1, 120}, {"back_shin", "N m", 1, 90},
                                         {"back_foot", "N m", 1, 60},   {"front_thigh", "N m", 1, 120},
                                         {"front_shin", "N m", 1, 60},  {"front_foot", "N m", 1, 30}};
  static constexpr RobotModel model{"half_cheetah.xml", 5};
  static constexpr bool starts_normally = true;
  static constexpr double ctrl_cost_weight = 0.1, reset_noise_scale = 0.1;
  static constexpr auto preset = gym::preset({.gamma = "0.98", .lam = "0.92", .max_grad_norm = "0.8"});
};

template <class R>
struct HalfCheetah : gym::Runner<R, HalfCheetahConfig> {};

}  // namespace drl

DRL_ROBOT(drl::HalfCheetah)
