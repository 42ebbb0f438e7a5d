// Motions of a robot, which its task tracks: drl_motion makes files of them from recordings of other programs, and
// tasks read them. A file may hold many motions, one after the other.
//
// The file is HDF5, as store/checkpoint.hpp writes it, with mjlab's names and units of arrays. Its rows are frames. Any
// program can read it; h5py.File("walk.h5")["joint_pos"] for example.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace drl {

// Orientations are quaternions (w, x, y, z) of length 1. Velocities of bodies are those of their frames' origins.
struct Motions {
  std::string model;                        // name of the MJCF file
  std::vector<std::string> joints, bodies;  // in the model's order, without the free joint and the world
  double rate = 0;                          // frames per second
  std::vector<std::string> names = {};      // of the motions
  std::vector<int64_t> starts = {};         // first frame of each motion; the first is 0
  int64_t frames = 0;                       // of all motions
  // Row-major, [frames, joints] in rad and rad/s, and [frames, bodies, 3 or 4] in world coordinates in m, m/s and
  // rad/s.
  std::vector<float> joint_pos = {}, joint_vel = {}, body_pos = {}, body_quat = {}, body_lin_vel = {},
                     body_ang_vel = {};
};

// Writes the file as write_checkpoint does (store/checkpoint.hpp).
void write_motions(const std::filesystem::path& path, const Motions& motions);

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
