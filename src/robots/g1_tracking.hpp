// G1-Tracking is mjlab 1.6.0's Mjlab-Tracking-Flat-Unitree-G1 (tasks/tracking/config/g1): a humanoid follows a motion.
#pragma once

#include "drl/robots/tracking.hpp"
#include "robots/g1.hpp"

namespace drl {

struct G1Follower : G1Robot {
  static constexpr const char* name = "G1-Tracking";
  static constexpr char description[] = "a humanoid robot (Unitree G1) follows a motion";
  static constexpr RobotModel model{"g1.xml", 4, "unitree_g1/g1.xml", "tools/fetch_robots in drl's source directory"};
  static constexpr const char* clip = "g1_exercise.h5";
  static constexpr const char* bodies[] = {
      // clang-format off
      "pelvis",
      "left_hip_roll_link", "left_knee_link", "left_ankle_roll_link",
      "right_hip_roll_link", "right_knee_link", "right_ankle_roll_link",
      "torso_link",
      "left_shoulder_roll_link", "left_elbow_link", "left_wrist_yaw_link",
      "right_shoulder_roll_link", "right_elbow_link", "right_wrist_yaw_link",
      // clang-format on
  };
  static constexpr int anchor = 7;
  static constexpr int ends_at[] = {3, 6, 10, 13};  // ankles and wrists
  static constexpr auto& preset = tracking::kPreset;
};

template <class R>
struct G1Tracking : tracking::Task<R, G1Follower> {};

}  // namespace drl

DRL_ROBOT(drl::G1Tracking)
