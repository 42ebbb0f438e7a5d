// The state of a run, from its files, its lock, and Slurm's list of jobs.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "launch/allocation.hpp"

namespace drl {

enum class RunState { running, waiting, failed, unreadable, stopped, done };  // in the order of drl_status
const char* name_of(RunState state);

struct RunStatus {
  std::filesystem::path path;
  std::string task, name;
  RunState state = RunState::unreadable;
  std::string note = {};          // the cause of a failure, what the run waits for, ...; "" if there is none
  std::string recorded = {};      // the status in run.json
  std::string job = {};           // Slurm's id of the latest job; "" if there was none
  int64_t iteration = 0;          // finished iterations
  int64_t max_iterations = 0;     // 0 if unknown
  double steps_per_second = NAN;  // of the last iteration, like the mean reward; NaN if unknown
  double mean_reward = NAN;
  double eta = NAN;         // seconds until max_iterations, at the speed of the last iterations; NaN unless it runs
  double node_hours = NAN;  // of all starts, up to now; NaN if unknown
};

// Reads a run directory and its lock. The state of a run that neither runs nor is done is `stopped` until
// ask_job() knows more. Files that cannot be read make the run `unreadable`. Returns nullopt if the directory has
// vanished. `now`: seconds since 1970.
std::optional<RunStatus> read_status(const std::filesystem::path& run, double now);

// Returns true if the state of the run's job matters: nothing runs, and the run is not done.
inline bool needs_job(const RunStatus& run) {
  return !run.job.empty() && (run.state == RunState::stopped || run.state == RunState::failed);
}
// Takes what Slurm says about the run's job, if needs_job(): the run waits with a job that waits. Pure.
void take_job(RunStatus& run, const JobList& jobs);

// Returns the text of the last lines of metrics.csv, after its header, for parse_metrics. Reads little more than
// `bytes` bytes. Returns "" if the file does not exist or has no row.
std::string tail_of_metrics(const std::filesystem::path& file, size_t bytes = 1 << 14);

}  // namespace drl
