// The arrays of a file of drl_motion (docs/howto/motion.md) that tasks read to track its motions. drl reads the file
// (motion/motion.cpp), and shares it with task libraries.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
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

// What a task reads: its joints and bodies by name, and its steps per second.
struct MotionRequest {
  const char* path;
  const char* const* joints;
  const char* const* bodies;
  int32_t joint_count, body_count;
  double rate;
};
// Sets the frames. Returns 0 or an error, as RobotRecord::prepare does (drl/task/abi.hpp).
using MotionReader = int32_t (*)(const MotionRequest* request, MotionFrames* frames, char* error, int64_t error_size);
// The reader of this library or program, which drl sets when it loads a library.
inline MotionReader motion_reader = nullptr;

// Reads a file for a task that uses these joints and bodies, `rate` times a second. Throws std::invalid_argument if the
// file cannot be used: it is missing or damaged, has another rate, lacks a joint or a body, or has joints that the
// robot (the joints of the task) lacks.
inline MotionFrames read_motions(const std::string& path, std::span<const char* const> joints,
                                 std::span<const char* const> bodies, double rate) {
  const MotionRequest request{path.c_str(),
                              joints.data(),
                              bodies.data(),
                              static_cast<int32_t>(joints.size()),
                              static_cast<int32_t>(bodies.size()),
                              rate};
  MotionFrames frames;
  char error[8192] = "this program does not read motions";
  if (!motion_reader || motion_reader(&request, &frames, error, sizeof(error)) != 0) throw std::invalid_argument(error);
  return frames;
}

}  // namespace drl
