// Motions of a robot, which its task tracks: drl_motion makes files of them from recordings of other programs, and
// tasks read them. A file may hold many motions, one after the other.
//
// The file is HDF5, as store/checkpoint.hpp writes it, with mjlab's names and units of arrays. Its rows are frames. Any
// program can read it; h5py.File("walk.h5")["joint_pos"] for example.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "drl/task/motion.hpp"

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

// Is the motion_reader of task libraries.
int32_t read_motion_file(const MotionRequest* request, MotionFrames* frames, char* error, int64_t error_size);

}  // namespace drl
