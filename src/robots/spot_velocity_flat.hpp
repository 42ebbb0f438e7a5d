// Spot-Velocity-Flat: Boston Dynamics' Spot follows commanded velocities on flat ground. The task is that of
// Go1-Velocity-Flat, with its reward terms, and with the posture of Isaac Lab's SPOT_CFG.
#pragma once

#include "drl/robots/quadruped.hpp"

namespace drl {

struct Spot : velocity::Quadruped {
  static constexpr const char* name = "Spot-Velocity-Flat";
  static constexpr char description[] = "a quadruped (Spot) walks at a commanded velocity";
  static constexpr RobotModel model{"spot.xml", 4, "boston_dynamics_spot/spot.xml",
                                    "tools/fetch_robots spot in drl's source directory"};

  static constexpr velocity::Motor hip{144.4, 200, 10}, leg{135.278, 200, 10};
  static constexpr velocity::Joint joints[] = {
      hip_joint("FL_hip_joint", 0.1, hip),    hip_joint("FL_thigh_joint", 0.9, leg),
      knee_joint("FL_calf_joint", -1.5, leg), hip_joint("FR_hip_joint", -0.1, hip),
      hip_joint("FR_thigh_joint", 0.9, leg),  knee_joint("FR_calf_joint", -1.5, leg),
      hip_joint("RL_hip_joint", 0.1, hip),    hip_joint("RL_thigh_joint", 1.1, leg),
      knee_joint("RL_calf_joint", -1.5, leg), hip_joint("RR_hip_joint", -0.1, hip),
      hip_joint("RR_thigh_joint", 1.1, leg),  knee_joint("RR_calf_joint", -1.5, leg),
  };
  static constexpr const char *root = "body", *torso = "body";
  static constexpr double height = 0.53;  // m, of the root at the start
};

template <class R>
struct SpotVelocityFlat : velocity::Flat<R, Spot> {};

}  // namespace drl

DRL_ROBOT(drl::SpotVelocityFlat)
