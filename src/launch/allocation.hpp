// The Slurm job that this process runs in. For how a rank was started, see launch_info.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/environment.hpp"

namespace drl {

struct Allocation {
  std::string job;  // id for Slurm's commands: "1234", or "1230_4" in a job array
  std::string cluster;
  std::string partition;
  std::string nodes;      // "node[1-2]"
  int node_count = 0;     // 0 if unknown
  int restart_count = 0;  // how often the job was requeued
  // In seconds since 1970, from SLURM_JOB_START_TIME and SLURM_JOB_END_TIME. Slurm sets these since version 23.02; for
  // older versions, drl's batch scripts do.
  std::optional<int64_t> start_time, end_time;
};

// Returns the job that `environment` describes, or nullopt outside a job. A malformed variable counts as unset, since
// no field is important enough to refuse a run. Pure.
std::optional<Allocation> allocation(const Environment& environment);

// Returns whether the job should have ended at least ten minutes ago. Its limit may have been extended, or a shell has
// outlived it, as in tmux or screen, and keeps its variables. Pure, but for the time.
bool has_outlived_its_limit(const Allocation& job);
// Returns whether such a job has ended: squeue does not list it as running. Returns nullopt if squeue does not answer.
std::optional<bool> is_over(const Allocation& job);
// Tells the user what to do in such a shell.
constexpr const char* kLeaveJob = "open a new shell, or type unset $(env | grep -o '^SLURM_[^=]*')";
// Throws UsageError if the job is over, and logs a warning if squeue does not answer.
void require_not_over(const Allocation& job);

// Returns whether this job continues a run that was started under the name `job_id` (LaunchInfo::job_id): either the
// job was requeued, or it replaces a job that was stopped. Pure.
bool is_continuation(const std::optional<Allocation>& job, const std::string& job_id);

// Returns the command that prints the job's remaining time for parse_time_left.
std::vector<std::string> time_left_command(const Allocation& job);
// Returns the command that prints the state of a job for parse_job_state.
std::vector<std::string> job_state_command(const std::string& job);
// Returns the command that sets the job's comment, which squeue (-o %k) and scontrol show job display.
std::vector<std::string> comment_command(const Allocation& job, const std::string& comment);

// Parses the last line of squeue's output, such as "1-02:03:04", "02:03:04" or "03:04", as seconds. Returns infinity
// for "UNLIMITED", and nullopt for anything else ("NOT_SET", "INVALID", an error message). Pure.
std::optional<double> parse_time_left(std::string_view squeue_output);
// Returns "RUNNING", "SUSPENDED", ...; "" if Slurm no longer knows the job; nullopt if squeue did not answer. Pure.
std::optional<std::string> parse_job_state(int exit_code, std::string_view squeue_output);

// The jobs that Slurm knows, by their ids.
struct JobFacts {
  std::string state, reason;  // "PENDING", "Resources"
};
using JobList = std::map<std::string, JobFacts>;
// Returns the command that lists these jobs for parse_job_list.
std::vector<std::string> job_list_command(const std::vector<std::string>& jobs);
// Parses lines such as "1230_4|PENDING|Resources". Returns nullopt if squeue did not answer. Pure.
std::optional<JobList> parse_job_list(int exit_code, std::string_view squeue_output);

}  // namespace drl
