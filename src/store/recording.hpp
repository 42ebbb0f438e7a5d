// Records episodes in HDF5, so that other programs can replay them (drl_eval --record).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

// The actions of T steps: `continuous` [T, dim], or `discrete` [T] ([T, heads] for several discrete actions). The other
// one is empty.
struct EpisodeActions {
  std::vector<float> continuous{};
  std::vector<int32_t> discrete{};
};

// One whole episode of T steps.
struct Episode {
  std::vector<float> observations{};  // [T+1, obs_dim]
  EpisodeActions actions{};           // that the environment received: delayed, clipped, scaled
  EpisodeActions policy_actions{};    // that the policy chose in the same steps
  std::vector<float> rewards{};       // [T]
  std::vector<uint8_t> terminated{};  // [T]
  std::vector<uint8_t> truncated{};   // [T]
};

// A file with groups `episode_000000/`, `episode_000001/`, ..., which hold the arrays above. Files of
// earlier versions have no `policy_actions`, and their `actions` are those of the policy, clipped.
class Recording {
 public:
  // `attributes` of the file: task, dt, checkpoint, ...
  explicit Recording(std::map<std::string, Attribute> attributes) { content_.attributes = std::move(attributes); }

  // Adds the episode in memory. Throws Error if the lengths of its arrays do not match.
  void add(const Episode& episode);

  // Writes all episodes. Throws as write_checkpoint does.
  void write(const std::filesystem::path& path) const;

 private:
  Checkpoint content_;
  int64_t episodes_ = 0;
};

// Reads such a file. Throws as read_checkpoint does.
Checkpoint read_recording(const std::filesystem::path& path);

// Returns true if the file is such a recording.
bool is_recording(const std::filesystem::path& path);

}  // namespace drl
