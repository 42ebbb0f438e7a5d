// Go1-Velocity-Rough is mjlab 1.6.0's Mjlab-Velocity-Rough-Unitree-Go1 (tasks/velocity/config/go1): a four-legged robot
// follows commanded velocities over slopes, stairs and other rough ground.
#pragma once

#include "drl/robots/rough.hpp"
#include "robots/go1.hpp"

namespace drl {

struct Go1Rough : Go1Robot {
  static constexpr const char* name = "Go1-Velocity-Rough";
  static constexpr char description[] = "a quadruped (Unitree Go1) walks over rough ground";
  static constexpr RobotModel model{"go1_rough.xml", 4, "unitree_go1/go1.xml",
                                    "tools/fetch_robots in drl's source directory"};

  static constexpr auto reward_terms =
      velocity::reward_terms(0, 0, RewardTerm{"self_collisions", -0.1}, RewardTerm{"shank_collision", -0.1},
                             RewardTerm{"trunk_head_collision", -0.1});
  static constexpr const char* self_contact = "self_contact";
  static constexpr EndCause ends[] = {{"illegal_contact"}, {"out_of_terrain_bounds", EndsAs::time_out}};
  static constexpr bool ends_by_touch = true, follows_ground = true;
  static constexpr int touch_kinds = 3;  // thighs, shanks, trunk
  static constexpr velocity::Touch touches[] = {
      {"FR_thigh_contact", 0}, {"FL_thigh_contact", 0}, {"RR_thigh_contact", 0}, {"RL_thigh_contact", 0},
      {"FR_calf_contact1", 1}, {"FR_calf_contact2", 1}, {"FL_calf_contact1", 1}, {"FL_calf_contact2", 1},
      {"RR_calf_contact1", 1}, {"RR_calf_contact2", 1}, {"RL_calf_contact1", 1}, {"RL_calf_contact2", 1},
      {"trunk_contact", 2},
  };
  // The commanded velocity is worth more than with mjlab's weights, and first steps, which are low and jerky, cost less.
  static constexpr char preset[] = R"(
num_envs = 512
num_steps_per_env = 24
max_iterations = 2400
[policy]
actor_hidden_dims = 128,128,128
critic_hidden_dims = 128,128,128
activation = elu
std_type = scalar
[ppo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 2400
num_learning_epochs = 5
num_mini_batches = 4
max_grad_norm = 1.0
obs_normalization = true
entropy_coef = 0.005
gamma = 0.985
[env]
push = 0.5
[env.reward]
track_linear_velocity = 4
action_rate_l2 = -0.01
foot_clearance = -0.5
)";
  static constexpr std::array<Vec<double, 2>, 4> ring{{{{0.04, 0}}, {{0, 0.04}}, {{-0.04, 0}}, {{0, -0.04}}}};
};

template <class R>
struct Go1VelocityRough : velocity::Rough<R, Go1Rough> {};

}  // namespace drl

DRL_ROBOT(drl::Go1VelocityRough)
