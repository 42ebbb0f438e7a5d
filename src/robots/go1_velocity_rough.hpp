// Go1-Velocity-Rough is mjlab 1.6.0's Mjlab-Velocity-Rough-Unitree-Go1 (tasks/velocity/config/go1): a four-legged robot
// follows commanded velocities over slopes, stairs and other rough ground.
#pragma once

#include "robots/go1.hpp"
#include "robots/rough.hpp"

namespace drl {

struct Go1Rough : Go1Robot {
  static constexpr const char* name = "Go1-Velocity-Rough";
  static constexpr char description[] = "a quadruped (Unitree Go1) walks over rough ground";
  static constexpr RobotModel model{"go1_rough.xml", 4, "unitree_go1/go1.xml",
                                    "tools/fetch_robots in drl's source directory"};

  static constexpr RewardTerm reward_terms[] = {
      {"track_linear_velocity", 2},
      {"track_angular_velocity", 2},
      {"upright", 1},
      {"pose", 1},
      {"body_ang_vel", 0},
      {"angular_momentum", 0},
      {"dof_pos_limits", -1},
      {"action_rate_l2", -0.1},
      {"air_time", 0},
      {"foot_clearance", -2},
      {"foot_swing_height", -0.25},
      {"foot_slip", -0.1},
      {"soft_landing", -1e-5},
      {"self_collisions", -0.1},
      {"shank_collision", -0.1},
      {"trunk_head_collision", -0.1},
  };
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
  static constexpr auto preset = velocity::quadruped_preset("2400", velocity::kFollow);
  static constexpr std::array<Vec<double, 2>, 4> ring{{{{0.04, 0}}, {{0, 0.04}}, {{-0.04, 0}}, {{0, -0.04}}}};
};

template <class R>
struct Go1VelocityRough : velocity::Rough<R, Go1Rough> {};

}  // namespace drl

DRL_ROBOT(drl::Go1VelocityRough)
