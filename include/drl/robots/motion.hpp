// The arrays of a file of drl_motion (docs/howto/motion.md) that tasks read to track its motions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace drl {

// The numbers that a task reads in its steps. The pointers lead into the file's memory, which all environments of the
// process and all processes of the node share. They stay valid until the process ends. If count is 0, there is no file.
struct MotionFrames {
  static constexpr int kMost = 64;  // joints, and bodies

  const float *joint_pos = nullptr, *joint_vel = nullptr;
  const float *body_pos = nullptr, *body_quat = nullptr, *body_lin_vel = nullptr, *body_ang_vel = nullptr;
  const float* left = nullptr;              // [frames] how many frames of the same motion follow
  int64_t count = 0;                        // frames
  int joints = 0, bodies = 0;               // in each row
  int joint[kMost] = {}, body[kMost] = {};  // columns of the task's joints and bodies
};

// Reads a file for a task that uses these joints and bodies, `rate` times a second. Throws std::invalid_argument if the
// file cannot be used: it is missing or damaged, has another rate, lacks a joint or a body, or has joints that the
// robot (the joints of the task) lacks.
MotionFrames read_motions(const std::string& path, std::span<const char* const> joints,
                          std::span<const char* const> bodies, double rate);

}  // namespace drl
