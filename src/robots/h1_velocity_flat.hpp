// H1-Velocity-Flat: Unitree's H1 follows commanded velocities on flat ground, as G1 does. Posture, stiffness and
// damping are those of Isaac Lab's H1_CFG; torque limits and feet are MuJoCo Menagerie's.
#pragma once

#include "drl/robots/humanoid.hpp"

namespace drl {

struct H1 : velocity::Humanoid {
  static constexpr const char* name = "H1-Velocity-Flat";
  static constexpr char description[] = "a humanoid robot (Unitree H1) walks at a commanded velocity";
  static constexpr RobotModel model{"h1.xml", 4, "unitree_h1/h1.xml",
                                    "tools/fetch_robots h1 in drl's source directory"};

  static constexpr velocity::Motor hip{200, 150, 5}, pitch{200, 200, 5}, knee{300, 200, 5}, ankle{40, 20, 4};
  static constexpr velocity::Motor shoulder{40, 40, 10}, elbow{18, 40, 10};
  // The tolerances are those of G1's joints.
  static constexpr velocity::Joint joints[] = {
      // clang-format off
      {"left_hip_yaw", 0, hip, 0.05, 0.15, 0.2},
      {"left_hip_roll", 0, hip, 0.05, 0.15, 0.2},
      {"left_hip_pitch", -0.28, pitch, 0.05, 0.3, 0.5},
      {"left_knee", 0.79, knee, 0.05, 0.35, 0.6},
      {"left_ankle", -0.52, ankle, 0.05, 0.25, 0.35},
      {"right_hip_yaw", 0, hip, 0.05, 0.15, 0.2},
      {"right_hip_roll", 0, hip, 0.05, 0.15, 0.2},
      {"right_hip_pitch", -0.28, pitch, 0.05, 0.3, 0.5},
      {"right_knee", 0.79, knee, 0.05, 0.35, 0.6},
      {"right_ankle", -0.52, ankle, 0.05, 0.25, 0.35},
      {"torso", 0, pitch, 0.05, 0.2, 0.3},
      {"left_shoulder_pitch", 0.28, shoulder, 0.05, 0.15, 0.5},
      {"left_shoulder_roll", 0, shoulder, 0.05, 0.15, 0.2},
      {"left_shoulder_yaw", 0, elbow, 0.05, 0.1, 0.15},
      {"left_elbow", 0.52, elbow, 0.05, 0.15, 0.35},
      {"right_shoulder_pitch", 0.28, shoulder, 0.05, 0.15, 0.5},
      {"right_shoulder_roll", 0, shoulder, 0.05, 0.15, 0.2},
      {"right_shoulder_yaw", 0, elbow, 0.05, 0.1, 0.15},
      {"right_elbow", 0.52, elbow, 0.05, 0.15, 0.35},
      // clang-format on
  };
  static constexpr const char* flips[] = {"_roll", "_yaw", "torso"};
  static constexpr velocity::Foot feet[] = {{"left_foot", "left_ankle_link", "left_foot_contact"},
                                            {"right_foot", "right_ankle_link", "right_foot_contact"}};
  static constexpr const char* foot_geoms[] = {"left_foot1",  "left_foot2",  "left_foot3",
                                               "right_foot1", "right_foot2", "right_foot3"};
  static constexpr const char *root = "pelvis", *torso = "torso_link";
  static constexpr double height = 0.978;  // m, of the root at the start
};

template <class R>
struct H1VelocityFlat : velocity::Flat<R, H1> {};

}  // namespace drl

DRL_ROBOT(drl::H1VelocityFlat)
