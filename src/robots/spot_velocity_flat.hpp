// Spot-Velocity-Flat: Boston Dynamics' Spot follows commanded velocities on flat ground. The task is that of
// Go1-Velocity-Flat, with its rewards, and with the posture of Isaac Lab's SPOT_CFG.
#pragma once

#include "robots/quadruped.hpp"

namespace drl {

struct Spot : velocity::Quadruped {
  static constexpr const char* name = "Spot-Velocity-Flat";
  static constexpr char description[] = "a quadruped (Spot) walks at a commanded velocity";
  static constexpr RobotModel model{"spot.xml", 4, "boston_dynamics_spot/spot.xml",
                                    "tools/fetch_robots spot in drl's source directory"};

  static constexpr velocity::Motor hip{144.4, 200, 10}, leg{135.278, 200, 10};
  static constexpr velocity::Joint joints[] = {
      {"FL_hip_joint", 0.1, hip, 0.05, 0.3, 0.3},   {"FL_thigh_joint", 0.9, leg, 0.05, 0.3, 0.3},
      {"FL_calf_joint", -1.5, leg, 0.1, 0.6, 0.6},  {"FR_hip_joint", -0.1, hip, 0.05, 0.3, 0.3},
      {"FR_thigh_joint", 0.9, leg, 0.05, 0.3, 0.3}, {"FR_calf_joint", -1.5, leg, 0.1, 0.6, 0.6},
      {"RL_hip_joint", 0.1, hip, 0.05, 0.3, 0.3},   {"RL_thigh_joint", 1.1, leg, 0.05, 0.3, 0.3},
      {"RL_calf_joint", -1.5, leg, 0.1, 0.6, 0.6},  {"RR_hip_joint", -0.1, hip, 0.05, 0.3, 0.3},
      {"RR_thigh_joint", 1.1, leg, 0.05, 0.3, 0.3}, {"RR_calf_joint", -1.5, leg, 0.1, 0.6, 0.6},
  };
  static constexpr velocity::Foot feet[] = {
      {"FR", "FR_foot", "FR_contact"},
      {"FL", "FL_foot", "FL_contact"},
      {"RR", "RR_foot", "RR_contact"},
      {"RL", "RL_foot", "RL_contact"},
  };
  static constexpr const char* foot_geoms[] = {"FR", "FL", "RR", "RL"};
  static constexpr const char *root = "body", *torso = "body";
  static constexpr double height = 0.53;  // m, of the root at the start
};

template <class R>
struct SpotVelocityFlat : velocity::Flat<R, Spot> {};

}  // namespace drl

DRL_ROBOT(drl::SpotVelocityFlat)
