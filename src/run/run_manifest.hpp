// run.json: what a run was, over all its restarts.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "envs/task_params.hpp"
#include "launch/allocation.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// What one start of the program knows of itself.
struct RunFacts {
  std::string task, run, launcher, job_id, device, cpu_model;
  int world_size = 1;
  std::vector<std::string> hosts;               // each once
  std::vector<std::string> rank_hosts;          // one a rank
  bool shares_cores = false;                    // there are more threads than cores
  std::map<std::string, std::string> versions;  // "drl", "libtorch", ...
  std::string git_hash;
  std::string lock;               // RunDirectory::lock_kind
  std::optional<Allocation> job;  // Slurm's
  std::string origin;             // origin_of the options
};

// How far a run has come.
struct RunProgress {
  int64_t iteration = 0, env_steps = 0;
  CommStats comm = {};  // of this start
};

// "drl 0.1.0, engine libtorch ..., ..."
std::string versions_text(const RunFacts& facts);

// Warns if that is of a robot, and its model another one than `task` has now. `file` is the checkpoint's.
void warn_of_other_model(const Checkpoint& checkpoint, const std::string& file, const TaskParams& task);

// Keeps what earlier starts of this run left in the file.
class RunManifest {
 public:
  RunManifest(std::filesystem::path path, RunFacts facts, std::string start_time);

  const RunFacts& facts() const { return facts_; }
  // Replaces the file. Throws Error if it cannot be written.
  void write(const RunProgress& progress, const std::string& status) const;

 private:
  std::filesystem::path path_;
  RunFacts facts_;
  std::string start_time_;
  double start_ = steady_seconds();
  std::string earlier_;  // the file as it was, empty for a new run
};

}  // namespace drl
