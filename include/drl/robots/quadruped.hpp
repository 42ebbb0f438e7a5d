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

// With mjlab's weights and few environments, robots other than Go1 learn to stand still. Here the commanded velocity is
// worth more than standing upright, and first steps, which are low and jerky, cost less.
constexpr char kFollow[] = R"(
[ppo]
entropy_coef = 0.005
gamma = 0.985
[env]
push = 0.5
[env.reward]
track_linear_velocity = 4
action_rate_l2 = -0.01
foot_clearance = -0.5
)";
// Robots of 45 kg and more stand still with that, too. They learn from feet in the air, pushes, and actions that stay
// random for longer.
constexpr char kFollowHeavily[] = R"(
[policy]
init_std = 0.7
[ppo]
entropy_coef = 0.01
gamma = 0.99
[env.reward]
track_linear_velocity = 4
action_rate_l2 = -0.01
air_time = 0.5
foot_clearance = -0.5
foot_swing_height = 0
)";
// Returns the preset of a run of this many iterations with this many environments in each rank, with one of these
// texts, and further lines.
constexpr common::Preset quadruped_preset(const char* envs, const char* iterations, const char* rest,
                                          const char* more = "") {
  return {
      "\nnum_envs = ", envs, "\nnum_steps_per_env = 24\nmax_iterations = ", iterations, R"(
[policy]
actor_hidden_dims = 128,128,128
critic_hidden_dims = 128,128,128
activation = elu
std_type = scalar
[ppo]
learning_rate = 1e-3
schedule = linear
num_learning_epochs = 5
num_mini_batches = 4
max_grad_norm = 1.0
obs_normalization = true
schedule_iterations = )", iterations, rest, more};
}

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

  static constexpr common::Preset preset = quadruped_preset("256", "1000", kFollow);
  static constexpr common::Preset heavy_preset = quadruped_preset("512", "500", kFollowHeavily);
  // For robots whose preset nobody has tuned: each sample also counts as its mirror image, and pushes are weak.
  static constexpr common::Preset symmetric_preset =
      quadruped_preset("512", "500", kFollowHeavily, "[ppo]\nsymmetry = augment\n[env]\npush = 0.5\n");
};

}  // namespace drl::velocity
