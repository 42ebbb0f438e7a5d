// Unitree's G1, for the velocity tasks.
#pragma once

#include "drl/robots/humanoid.hpp"

namespace drl {

struct G1Robot : velocity::Humanoid {
  static constexpr velocity::Motor m5020{25, 14.25062309787429, 0.907222843292423};
  static constexpr velocity::Motor two_5020{50, 28.50124619574858, 1.814445686584846};  // move one joint together
  static constexpr velocity::Motor m7520_14{88, 40.17923863450712, 2.557889775413375};
  static constexpr velocity::Motor m7520_22{139, 99.09842777666111, 6.308801853496639};
  static constexpr velocity::Motor m4010{5, 16.77832748089279, 1.06814150219};
  static constexpr velocity::Joint joints[] = {
      // clang-format off
      {"left_hip_pitch_joint", -0.312, m7520_14, 0.05, 0.3, 0.5},
      {"left_hip_roll_joint", 0, m7520_22, 0.05, 0.15, 0.2},
      {"left_hip_yaw_joint", 0, m7520_14, 0.05, 0.15, 0.2},
      {"left_knee_joint", 0.669, m7520_22, 0.05, 0.35, 0.6},
      {"left_ankle_pitch_joint", -0.363, two_5020, 0.05, 0.25, 0.35},
      {"left_ankle_roll_joint", 0, two_5020, 0.05, 0.1, 0.15},
      {"right_hip_pitch_joint", -0.312, m7520_14, 0.05, 0.3, 0.5},
      {"right_hip_roll_joint", 0, m7520_22, 0.05, 0.15, 0.2},
      {"right_hip_yaw_joint", 0, m7520_14, 0.05, 0.15, 0.2},
      {"right_knee_joint", 0.669, m7520_22, 0.05, 0.35, 0.6},
      {"right_ankle_pitch_joint", -0.363, two_5020, 0.05, 0.25, 0.35},
      {"right_ankle_roll_joint", 0, two_5020, 0.05, 0.1, 0.15},
      {"waist_yaw_joint", 0, m7520_14, 0.05, 0.2, 0.3},
      {"waist_roll_joint", 0, two_5020, 0.05, 0.08, 0.08},
      {"waist_pitch_joint", 0, two_5020, 0.05, 0.1, 0.2},
      {"left_shoulder_pitch_joint", 0.2, m5020, 0.05, 0.15, 0.5},
      {"left_shoulder_roll_joint", 0.2, m5020, 0.05, 0.15, 0.2},
      {"left_shoulder_yaw_joint", 0, m5020, 0.05, 0.1, 0.15},
      {"left_elbow_joint", 0.6, m5020, 0.05, 0.15, 0.35},
      {"left_wrist_roll_joint", 0, m5020, 0.05, 0.3, 0.3},
      {"left_wrist_pitch_joint", 0, m4010, 0.05, 0.3, 0.3},
      {"left_wrist_yaw_joint", 0, m4010, 0.05, 0.3, 0.3},
      {"right_shoulder_pitch_joint", 0.2, m5020, 0.05, 0.15, 0.5},
      {"right_shoulder_roll_joint", -0.2, m5020, 0.05, 0.15, 0.2},
      {"right_shoulder_yaw_joint", 0, m5020, 0.05, 0.1, 0.15},
      {"right_elbow_joint", 0.6, m5020, 0.05, 0.15, 0.35},
      {"right_wrist_roll_joint", 0, m5020, 0.05, 0.3, 0.3},
      {"right_wrist_pitch_joint", 0, m4010, 0.05, 0.3, 0.3},
      {"right_wrist_yaw_joint", 0, m4010, 0.05, 0.3, 0.3},
      // clang-format on
  };
  static constexpr velocity::Foot feet[] = {{"left_foot", "left_ankle_roll_link", "left_foot_contact"},
                                            {"right_foot", "right_ankle_roll_link", "right_foot_contact"}};
  static constexpr const char* foot_geoms[] = {
      // clang-format off
      "left_foot1_collision", "left_foot2_collision", "left_foot3_collision", "left_foot4_collision",
      "left_foot5_collision", "left_foot6_collision", "left_foot7_collision",
      "right_foot1_collision", "right_foot2_collision", "right_foot3_collision", "right_foot4_collision",
      "right_foot5_collision", "right_foot6_collision", "right_foot7_collision",
      // clang-format on
  };
  static constexpr const char *root = "pelvis", *torso = "torso_link", *self_contact = "self_contact";
  static constexpr double height = 0.76;  // m, of the root at the start

  static constexpr auto reward_terms = velocity::reward_terms(-0.05, -0.02, RewardTerm{"self_collisions", -1});
};

}  // namespace drl
