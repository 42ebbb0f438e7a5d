#include "launch/allocation.hpp"

#include <limits>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  const auto value = number_in<int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<int64_t> variable(const Environment& environment, const char* name) {
  return whole_number(environment(name).value_or(""));
}

// Returns the value of the first of these variables that is set. Newer Slurm versions keep the older name too.
std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto value = environment(name)) return *value;
  return "";
}

}  // namespace

std::optional<Allocation> allocation(const Environment& environment) {
  const std::string id = environment("SLURM_JOB_ID").value_or("");
  if (!whole_number(id)) return std::nullopt;
  const auto array = variable(environment, "SLURM_ARRAY_JOB_ID"), task = variable(environment, "SLURM_ARRAY_TASK_ID");
  Allocation job;
  // SLURM_JOB_ID of an array's last task is the id of the whole array, for which squeue would list all tasks.
  job.job = array && task ? fmt::format("{}_{}", *array, *task) : id;
  job.cluster = environment("SLURM_CLUSTER_NAME").value_or("");
  job.partition = environment("SLURM_JOB_PARTITION").value_or("");
  job.nodes = first_of(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  job.node_count =
      static_cast<int>(whole_number(first_of(environment, {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})).value_or(0));
  job.restart_count = static_cast<int>(variable(environment, "SLURM_RESTART_COUNT").value_or(0));
  job.start_time = variable(environment, "SLURM_JOB_START_TIME");
  job.end_time = variable(environment, "SLURM_JOB_END_TIME");
  return job;
}

bool has_outlived_its_limit(const Allocation& job) {
  constexpr double kLongAgo = 600;  // seconds; Slurm may let a job exceed its limit by some minutes
  return job.end_time && seconds_since_1970() - static_cast<double>(*job.end_time) >= kLongAgo;
}

std::optional<bool> is_over(const Allocation& job) {
  constexpr double kPatience = 10;  // seconds
  if (!has_outlived_its_limit(job)) return false;
  BackgroundCommand squeue(job_state_command(job.job));
  const std::optional<int> code = squeue.wait(kPatience);
  const std::optional<std::string> state = code ? parse_job_state(*code, squeue.output()) : std::nullopt;
  if (!state) return std::nullopt;
  return state->empty() || *state == "PENDING";  // a requeued job is pending
}

void require_not_over(const Allocation& job) {
  const std::optional<bool> over = is_over(job);
  if (over == false) return;
  const double minutes = (seconds_since_1970() - static_cast<double>(*job.end_time)) / 60;
  if (over)
    throw UsageError(fmt::format(
        "job {} is over (SLURM_JOB_END_TIME was {:.0f} minutes ago, and this shell has kept the job's variables): {}",
        job.job, minutes, kLeaveJob));
  log::warn("job {} may be over (SLURM_JOB_END_TIME was {:.0f} minutes ago, and squeue does not answer): if it is, {}",
            job.job, minutes, kLeaveJob);
}

bool is_continuation(const std::optional<Allocation>& job, const std::string& job_id) {
  return job && (job->restart_count > 0 || job->job != job_id);
}

std::vector<std::string> time_left_command(const Allocation& job) {
  return {"squeue", "-h", "-j", job.job, "-o", "%L"};
}

std::vector<std::string> job_state_command(const std::string& job) { return {"squeue", "-h", "-j", job, "-o", "%T"}; }

std::vector<std::string> comment_command(const Allocation& job, const std::string& comment) {
  return {"scontrol", "update", "jobid=" + job.job, "comment=" + comment};
}

std::optional<double> parse_time_left(std::string_view squeue_output) {
  std::string_view text = trim(squeue_output);
  text = trim(text.substr(text.find_last_of('\n') + 1));
  if (text == "UNLIMITED") return std::numeric_limits<double>::infinity();
  const size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  std::vector<std::string> parts = split(text.substr(has_days ? dash + 1 : 0), ':');
  if (parts.size() == 2 && !has_days) parts.insert(parts.begin(), "0");
  parts.insert(parts.begin(), has_days ? std::string(text.substr(0, dash)) : "0");
  if (parts.size() != 4) return std::nullopt;
  constexpr double lengths[] = {24 * 3600, 3600, 60, 1};  // of a day, an hour, ..., in seconds
  double seconds = 0;
  for (size_t k = 0; k < 4; ++k) {
    const auto value = whole_number(parts[k]);
    if (!value) return std::nullopt;
    seconds += static_cast<double>(*value) * lengths[k];
  }
  return seconds;
}

// For some minutes after a job has ended, squeue prints nothing for it; after that, it reports an invalid job id.
std::optional<std::string> parse_job_state(int exit_code, std::string_view squeue_output) {
  if (exit_code != 0)
    return squeue_output.find("Invalid job id") == std::string_view::npos ? std::nullopt
                                                                          : std::optional<std::string>("");
  const std::string_view text = trim(squeue_output);
  const std::string_view state = text.substr(text.find_last_of('\n') + 1);
  const bool plain = state.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
  return plain ? std::optional<std::string>(state) : std::nullopt;
}

std::vector<std::string> job_list_command(const std::vector<std::string>& jobs) {
  return {"squeue", "-h", "-r", "-j", join(jobs, ","), "-o", "%i|%T|%r"};
}

std::optional<JobList> parse_job_list(int exit_code, std::string_view squeue_output) {
  if (exit_code != 0)
    return parse_job_state(exit_code, squeue_output) ? std::optional<JobList>(std::in_place) : std::nullopt;
  JobList jobs;
  for (const std::string& line : split(squeue_output, '\n'))
    if (const std::vector<std::string> fields = split(line, '|'); fields.size() == 3)
      jobs[fields[0]] = {fields[1], fields[2]};
  return jobs;
}

}  // namespace drl
