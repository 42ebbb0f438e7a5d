// Writes run.json: the facts about a run over all its starts.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/gpu_energy.hpp"
#include "envs/task_params.hpp"
#include "launch/allocation.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// Facts about one start of the program.
struct RunFacts {
  std::string task, run, launcher, job_id, device, cpu_model;
  int world_size = 1;
  std::vector<std::string> hosts;               // without repetition
  std::vector<std::string> rank_hosts;          // one per rank
  bool shares_cores = false;                    // the ranks of a node have more threads than cores
  std::map<std::string, std::string> versions;  // "drl", "libtorch", ...
  std::string git_hash;
  std::string lock;                          // see RunDirectory::lock_kind
  std::optional<Allocation> job;             // the Slurm job
  std::string origin;                        // see origin_of
  std::string origin_option;                 // that gave it: "checkpoint" or "init_from"
  std::string task_library;                  // see task_library_file
  std::string files = {};                    // see contents_of (run/option_files.hpp)
  std::string teacher = {};                  // see TeacherRun::text
  std::string loaded = {};                   // see RunStart::loaded
  std::string command = {};                  // as typed, quoted for a shell
  std::string restarted_after = {};          // see restart_cause()
  std::vector<std::string> slow_ranks = {};  // what Balance said of this start's ranks
};

// The progress of a run.
struct RunProgress {
  int64_t iteration = 0, env_steps = 0;
  CommStats comm = {};                       // in this start of the program
  std::optional<GpuEnergy> gpu_energy = {};  // in this start, when it last saved; nullopt without GPUs or if unknown
};

// Returns "drl 0.1.0, engine libtorch ..., ...".
std::string versions_text(const RunFacts& facts);

// Warns if `task` uses another robot model than the run of the checkpoint, or if only one of both has several contacts
// by MuJoCo's flag multiccd. `file` is the checkpoint's name. Policies that come with drl may use the model that does.
void warn_if_physics_changed(const Checkpoint& checkpoint, const std::string& file, const TaskParams& task);

// Throws UsageError, which names the file and the task library that the checkpoint's run used, if its task is unknown.
void require_known_task(const Checkpoint& checkpoint, const std::string& file);
// Does the same after it has loaded the library that the run recorded, if any (load_recorded_library).
void load_task_of(const Checkpoint& checkpoint, const std::string& file);

// Writes run.json. Adds this start to what earlier starts of the run recorded (commands, job ids, time, node-hours, GPU
// energy).
class RunManifest {
 public:
  RunManifest(std::filesystem::path path, RunFacts facts, std::string start_time);

  const RunFacts& facts() const { return facts_; }
  // Adds a slow rank to what write() records from now on.
  void note_slow_rank(std::string text) { facts_.slow_ranks.push_back(std::move(text)); }
  // Returns the joules that GPUs have used in all starts of the run. Returns nullopt if they are unknown for one start
  // on GPUs, or if the run began on CPUs.
  std::optional<double> gpu_joules(const RunProgress& progress) const;
  // Replaces the file. `cause` is the error of a run that failed. Throws Error if it cannot be written.
  void write(const RunProgress& progress, const std::string& status, const std::string& cause = "") const;

 private:
  std::filesystem::path path_;
  RunFacts facts_;
  std::string start_time_;
  double start_ = steady_seconds();
  std::string earlier_;  // content of the file at the start, empty for a new run
};

}  // namespace drl
