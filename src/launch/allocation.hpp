// The Slurm job that we run in. How a rank was started is another question: launch_info.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/environment.hpp"

namespace drl {

struct Allocation {
  std::string job;  // as Slurm's commands call it: "1234", or "1230_4" in a job array
  std::string cluster;
  std::string partition;
  std::string nodes;      // "node[1-2]"
  int node_count = 0;     // 0 if Slurm does not say
  int restart_count = 0;  // how often the job was requeued
  // Seconds since 1970; Slurm tells them from version 23.02 on, and our batch scripts do before.
  std::optional<int64_t> start_time, end_time;
};

// nullopt outside of a job. A variable that is not what Slurm writes there counts as not set: nothing here is worth
// refusing a run. Pure.
std::optional<Allocation> allocation(const Environment& environment);

// Does this job go on with what was begun under the name `job_id` (LaunchInfo's)? It was requeued, or it is another job
// in place of one that was stopped. Pure.
bool goes_on(const std::optional<Allocation>& job, const std::string& job_id);

// Asks for the job's time left, to be read by parse_time_left.
std::vector<std::string> time_left_command(const Allocation& job);
// Asks for the state of a job, to be read by parse_job_state.
std::vector<std::string> job_state_command(const std::string& job);
// Shows `comment` in squeue (-o %k) and scontrol show job.
std::vector<std::string> comment_command(const Allocation& job, const std::string& comment);

// Seconds, as squeue prints them in its last line: "1-02:03:04", "02:03:04", "03:04"; infinite for "UNLIMITED";
// nullopt for what is no time ("NOT_SET", "INVALID", an error message). Pure.
std::optional<double> parse_time_left(std::string_view squeue_output);
// "RUNNING", "SUSPENDED", ...; "" if Slurm does not know the job any more; nullopt for what is no answer. Pure.
std::optional<std::string> parse_job_state(int exit_code, std::string_view squeue_output);

}  // namespace drl
