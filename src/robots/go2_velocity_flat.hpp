// Go2-Velocity-Flat: Unitree's Go2 follows commanded velocities on flat ground. The task is that of Go1-Velocity-Flat,
// with its reward terms. Stiffness, damping and posture are those of Isaac Lab's UNITREE_GO2_CFG.
#pragma once

#include "drl/robots/quadruped.hpp"

namespace drl {

struct Go2 : velocity::Quadruped {
  static constexpr const char* name = "Go2-Velocity-Flat";
  static constexpr char description[] = "a quadruped (Unitree Go2) walks at a commanded velocity";
  static constexpr RobotModel model{"go2.xml", 4, "unitree_go2/go2.xml",
                                    "tools/fetch_robots go2 in drl's source directory"};

  static constexpr velocity::Motor hip{23.7, 25, 0.5}, knee{45.43, 25, 0.5};
  static constexpr velocity::Joint joints[] = {
      hip_joint("FL_hip_joint", 0.1, hip),     hip_joint("FL_thigh_joint", 0.8, hip),
      knee_joint("FL_calf_joint", -1.5, knee), hip_joint("FR_hip_joint", -0.1, hip),
      hip_joint("FR_thigh_joint", 0.8, hip),   knee_joint("FR_calf_joint", -1.5, knee),
      hip_joint("RL_hip_joint", 0.1, hip),     hip_joint("RL_thigh_joint", 1.0, hip),
      knee_joint("RL_calf_joint", -1.5, knee), hip_joint("RR_hip_joint", -0.1, hip),
      hip_joint("RR_thigh_joint", 1.0, hip),   knee_joint("RR_calf_joint", -1.5, knee),
  };
  static constexpr const char *root = "base", *torso = "base";
  static constexpr double height = 0.333;  // m, of the root at the start
};

template <class R>
struct Go2VelocityFlat : velocity::Flat<R, Go2> {};

}  // namespace drl

DRL_ROBOT(drl::Go2VelocityFlat)
