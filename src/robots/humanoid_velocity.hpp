// The parameters that humanoids share in the velocity tasks: mjlab's numbers for G1. Only G1 touches itself.
#pragma once

#include "robots/velocity.hpp"

namespace drl::velocity {

struct Humanoid {
  static constexpr const char* self_contact = nullptr;
  static constexpr const char *sides[][2] = {{"left", "right"}}, *flips[] = {"_roll", "_yaw"};

  static constexpr RewardTerm reward_terms[] = {
      {"track_linear_velocity", 2},
      {"track_angular_velocity", 2},
      {"upright", 1},
      {"pose", 1},
      {"body_ang_vel", -0.05},
      {"angular_momentum", -0.02},
      {"dof_pos_limits", -1},
      {"action_rate_l2", -0.1},
      {"air_time", 0},
      {"foot_clearance", -2},
      {"foot_swing_height", -0.25},
      {"foot_slip", -0.1},
      {"soft_landing", -1e-5},
  };

  // Draws an environment's sliding, torsional and rolling friction of the feet.
  template <class F>
  DRL_HD static Vec<F, 3> friction(Draws<F>& draws) {
    return {{draws.uniform(F(0.3), F(1.2)), F(0.005), F(0.0001)}};
  }

  static constexpr auto preset = velocity::preset("30000");
};

}  // namespace drl::velocity
