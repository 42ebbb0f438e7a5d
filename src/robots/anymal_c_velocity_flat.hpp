// AnymalC-Velocity-Flat: ANYbotics' ANYmal C follows commanded velocities on flat ground, as Go2 does. The posture is
// that of Isaac Lab's ANYMAL_C_CFG. Isaac Lab's motors are a neural network or have a torque limit that depends on the
// velocity; here each motor is an ideal controller, with the stiffness and damping of legged_gym's anymal_c_flat.
#pragma once

#include "drl/robots/quadruped.hpp"

namespace drl {

struct AnymalC : velocity::Quadruped {
  static constexpr const char* name = "AnymalC-Velocity-Flat";
  static constexpr char description[] = "a quadruped (ANYmal C) walks at a commanded velocity";
  static constexpr RobotModel model{"anymal_c.xml", 4, "anybotics_anymal_c/anymal_c.xml",
                                    "tools/fetch_robots anymal_c in drl's source directory"};

  static constexpr velocity::Motor motor{80, 80, 2};
  static constexpr velocity::Joint joints[] = {
      hip_joint("LF_HAA", 0, motor), hip_joint("LF_HFE", 0.4, motor),  knee_joint("LF_KFE", -0.8, motor),
      hip_joint("RF_HAA", 0, motor), hip_joint("RF_HFE", 0.4, motor),  knee_joint("RF_KFE", -0.8, motor),
      hip_joint("LH_HAA", 0, motor), hip_joint("LH_HFE", -0.4, motor), knee_joint("LH_KFE", 0.8, motor),
      hip_joint("RH_HAA", 0, motor), hip_joint("RH_HFE", -0.4, motor), knee_joint("RH_KFE", 0.8, motor),
  };
  static constexpr const char *sides[][2] = {{"LF", "RF"}, {"LH", "RH"}}, *flips[] = {"HAA"};
  static constexpr velocity::Foot feet[] = {
      {"LF", "LF_SHANK", "LF_contact"},
      {"RF", "RF_SHANK", "RF_contact"},
      {"LH", "LH_SHANK", "LH_contact"},
      {"RH", "RH_SHANK", "RH_contact"},
  };
  static constexpr const char* foot_geoms[] = {"LF", "RF", "LH", "RH"};
  static constexpr const char *root = "base", *torso = "base";
  static constexpr double height = 0.549;  // m, of the root at the start
};

template <class R>
struct AnymalCVelocityFlat : velocity::Flat<R, AnymalC> {};

}  // namespace drl

DRL_ROBOT(drl::AnymalCVelocityFlat)
