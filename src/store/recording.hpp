// Episodes in HDF5, so that another program can replay them (drl_eval --record).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

// One whole episode of T steps. Actions are as the environment received them: `actions` for continuous tasks,
// `discrete_actions` for discrete ones, the other one empty.
struct Episode {
  std::vector<float> observations{};        // [T+1, obs_dim]
  std::vector<float> actions{};             // [T, dim]
  std::vector<int32_t> discrete_actions{};  // [T], or [T, heads] of several choices at once
  std::vector<float> rewards{};             // [T]
  std::vector<uint8_t> terminated{};        // [T]
  std::vector<uint8_t> truncated{};         // [T]
};

// Groups `episode_000000/`, `episode_000001/`, ... with the arrays above (`actions` in either case).
class Recording {
 public:
  // File attributes: task, dt, checkpoint, ...
  explicit Recording(std::map<std::string, Attribute> attributes) { content_.attributes = std::move(attributes); }

  // Keeps the episode in memory. Throws Error if the arrays' lengths contradict each other.
  void add(const Episode& episode);

  // Writes all episodes as write_checkpoint does, and throws what it throws.
  void write(const std::filesystem::path& path) const;

 private:
  Checkpoint content_;
  int64_t episodes_ = 0;
};

// Whether that file is one of these.
bool is_recording(const std::filesystem::path& path);

}  // namespace drl
