// Unitree's Go1, for the velocity tasks.
#pragma once

#include "drl/robots/quadruped.hpp"

namespace drl {

struct Go1Robot : velocity::Quadruped {
  static constexpr velocity::Motor hip{23.7, 15.89524265323492, 1.0119225759919113};
  static constexpr velocity::Motor knee{35.55, 35.76429596977857, 2.2768257959818006};
  static constexpr velocity::Joint joints[] = {
      hip_joint("FR_hip_joint", 0.1, hip),     hip_joint("FR_thigh_joint", 0.9, hip),
      knee_joint("FR_calf_joint", -1.8, knee), hip_joint("FL_hip_joint", -0.1, hip),
      hip_joint("FL_thigh_joint", 0.9, hip),   knee_joint("FL_calf_joint", -1.8, knee),
      hip_joint("RR_hip_joint", 0.1, hip),     hip_joint("RR_thigh_joint", 0.9, hip),
      knee_joint("RR_calf_joint", -1.8, knee), hip_joint("RL_hip_joint", -0.1, hip),
      hip_joint("RL_thigh_joint", 0.9, hip),   knee_joint("RL_calf_joint", -1.8, knee),
  };
  static constexpr velocity::Foot feet[] = {
      {"FR", "FR_calf", "FR_contact"},
      {"FL", "FL_calf", "FL_contact"},
      {"RR", "RR_calf", "RR_contact"},
      {"RL", "RL_calf", "RL_contact"},
  };
  static constexpr const char* foot_geoms[] = {"FR_foot_collision", "FL_foot_collision", "RR_foot_collision",
                                               "RL_foot_collision"};
  static constexpr const char *root = "trunk", *torso = "trunk";
  static constexpr double height = 0.278;  // m, of the root at the start
};

}  // namespace drl
