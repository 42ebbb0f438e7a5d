// BerkeleyHumanoid-Velocity-Flat: the Berkeley humanoid follows commanded velocities on flat ground, as G1 does.
// Posture, stiffness and damping are those of MuJoCo Playground's BerkeleyHumanoidJoystickFlatTerrain.
#pragma once

#include "drl/robots/humanoid.hpp"

namespace drl {

struct BerkeleyHumanoid : velocity::Humanoid {
  static constexpr const char* name = "BerkeleyHumanoid-Velocity-Flat";
  static constexpr char description[] = "a humanoid robot (Berkeley) walks at a commanded velocity";
  static constexpr RobotModel model{"berkeley_humanoid.xml", 4, "berkeley_humanoid/berkeley_humanoid.xml",
                                    "tools/fetch_robots berkeley in drl's source directory"};

  static constexpr velocity::Motor hip{20, 35, 1.5}, thigh{30, 35, 1.5}, ankle{5, 1, 0.1};
  // The tolerances are those of G1's joints: yaw, roll and pitch of the hip, knee, pitch and roll of the ankle.
  static constexpr velocity::Joint joints[] = {
      // clang-format off
      {"LL_HR", -0.071, hip, 0.05, 0.15, 0.2},
      {"LL_HAA", 0.103, hip, 0.05, 0.15, 0.2},
      {"LL_HFE", -0.463, thigh, 0.05, 0.3, 0.5},
      {"LL_KFE", 0.983, thigh, 0.05, 0.35, 0.6},
      {"LL_FFE", -0.350, hip, 0.05, 0.25, 0.35},
      {"LL_FAA", 0.126, ankle, 0.05, 0.1, 0.15},
      {"LR_HR", 0.071, hip, 0.05, 0.15, 0.2},
      {"LR_HAA", -0.103, hip, 0.05, 0.15, 0.2},
      {"LR_HFE", -0.463, thigh, 0.05, 0.3, 0.5},
      {"LR_KFE", 0.983, thigh, 0.05, 0.35, 0.6},
      {"LR_FFE", -0.350, hip, 0.05, 0.25, 0.35},
      {"LR_FAA", -0.126, ankle, 0.05, 0.1, 0.15},
      // clang-format on
  };
  static constexpr const char *sides[][2] = {{"LL", "LR"}}, *flips[] = {"_HR", "_HAA", "_FAA"};
  static constexpr velocity::Foot feet[] = {{"LL_FOOT", "ll_faa", "LL_contact"}, {"LR_FOOT", "lr_faa", "LR_contact"}};
  static constexpr const char* foot_geoms[] = {"LL_foot1", "LR_foot1"};
  static constexpr const char *root = "torso", *torso = "torso";
  static constexpr double height = 0.518;  // m, of the root at the start
};

template <class R>
struct BerkeleyHumanoidVelocityFlat : velocity::Flat<R, BerkeleyHumanoid> {};

}  // namespace drl

DRL_ROBOT(drl::BerkeleyHumanoidVelocityFlat)
