#include "run/run_status.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/enum_table.hpp"
#include "base/format.hpp"
#include "base/ini.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "report/page/run_record.hpp"
#include "run/run_directory.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

bool is_done(const std::string& status) { return contains({"done", "target reached", "gate passed"}, status); }

// Returns the seconds since 1970 of "2026-01-31T23:59:59Z", NaN for another text.
double seconds_of(const std::string& utc_time) {
  std::tm parts{};
  const char* end = strptime(utc_time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return end && *end == '\0' ? static_cast<double>(timegm(&parts)) : NAN;
}

void take_manifest(const std::string& text, double now, RunStatus& run) {
  const nlohmann::json manifest = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object()) throw UsageError("run.json is damaged (it is not a JSON object)");
  run.task = value_or(manifest, "task", run.task);
  run.recorded = value_or(manifest, "status", std::string());
  run.iteration = value_or(manifest, "iteration", int64_t{0});
  run.node_hours = value_or(manifest, "node_hours", double{NAN});
  const auto list = [&](const char* name) { return value_or(manifest, name, nlohmann::json::array()); };
  if (const nlohmann::json ids = list("job_ids"); !ids.empty() && ids.back().is_string()) run.job = ids.back();
  run.job = value_or(value_or(manifest, "slurm", nlohmann::json::object()), "job", run.job);
  if (run.recorded == "failed") run.note = value_or(manifest, "cause", std::string());
  if (run.state != RunState::running) return;
  const double since = now - seconds_of(value_or(manifest, "updated", std::string()));
  if (since > 0) run.node_hours += since / 3600 * static_cast<double>(list("hosts").size());
}

void take_metrics(const fs::path& file, RunStatus& run) {
  const std::string text = tail_of_metrics(file);
  if (text.empty()) return;
  const MetricsTable metrics = parse_metrics(text, "metrics.csv");
  if (metrics.iterations.empty()) return;
  run.iteration = metrics.iterations.back();
  run.steps_per_second = metrics.last("steps_per_second");
  run.mean_reward = metrics.last("mean_reward");
  const std::vector<double>* times = metrics.find("iteration_time");
  if (!times || run.state != RunState::running) return;
  double sum = 0;
  for (const double time : *times) sum += time;
  const int64_t left = std::max<int64_t>(run.max_iterations - run.iteration, 0);
  if (run.max_iterations > 0) run.eta = sum / static_cast<double>(times->size()) * static_cast<double>(left);
}

void take_options(const std::string& text, RunStatus& run) {
  for (const IniEntry& entry : parse_ini(text, "options.ini"))
    if (entry.section.empty() && entry.key == "max_iterations")
      run.max_iterations = number_in<int64_t>(entry.value).value_or(0);
}

// Describes the end of a run whose process has recorded none.
std::string silent_end(const RunStatus& run) {
  const std::vector<fs::path> saved = list_checkpoints(run.path);
  return fmt::format("without saying why: lock is free, ended at iteration {}, {}", run.iteration,
                     saved.empty() ? "nothing saved" : "saved " + saved.front().stem().string());
}

void read_files(double now, RunStatus& run) {
  std::error_code error;
  if (fs::exists(run.path / "run.json", error)) take_manifest(read_text(run.path / "run.json"), now, run);
  if (fs::exists(run.path / "options.ini", error)) take_options(read_text(run.path / "options.ini"), run);
  take_metrics(run.path / "metrics.csv", run);
  if (run.state == RunState::running) return;
  run.state = is_done(run.recorded) ? RunState::done : run.recorded == "failed" ? RunState::failed : RunState::stopped;
  if (run.state == RunState::stopped && run.recorded != "stopped") run.note = silent_end(run);
}

}  // namespace

const char* name_of(RunState state) {
  static constexpr auto kNames = by_enum<RunState, const char*>(RunState::done, {{RunState::running, "running"},
                                                                                 {RunState::waiting, "waiting"},
                                                                                 {RunState::failed, "failed"},
                                                                                 {RunState::unreadable, "unreadable"},
                                                                                 {RunState::stopped, "stopped"},
                                                                                 {RunState::done, "done"}});
  return kNames[static_cast<size_t>(state)];
}

std::optional<RunStatus> read_status(const fs::path& directory, double now) {
  RunStatus run{
      .path = directory, .task = directory.parent_path().filename().string(), .name = directory.filename().string()};
  try {
    if (is_locked(directory)) run.state = RunState::running;  // before the files, which the owner writes before it ends
    read_files(now, run);
  } catch (const Error& problem) {
    run.state = RunState::unreadable;
    run.note = problem.what();
  }
  std::error_code error;
  return fs::is_directory(directory, error) ? std::optional(run) : std::nullopt;
}

void take_job(RunStatus& run, const JobList& jobs) {
  const auto job = jobs.find(run.job);
  if (!needs_job(run) || job == jobs.end()) return;
  const auto& [state, reason] = job->second;
  const bool waits =
      contains({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"}, state);
  if (waits) run.state = RunState::waiting, run.note.clear();
  run.note += fmt::format("{}job {} is {}{}", run.note.empty() ? "" : "; ", run.job, state,
                          waits && reason != "None" ? " (" + reason + ")" : "");
}

std::string tail_of_metrics(const fs::path& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string header, skipped;
  if (!std::getline(file, header) || file.eof()) return "";
  const std::streamoff begin = file.tellg();
  file.seekg(0, std::ios::end);
  const std::streamoff end = file.tellg(), from = end - static_cast<std::streamoff>(bytes);
  file.seekg(std::max(begin, from));
  if (from > begin) std::getline(file, skipped);  // the rest of a row
  const std::string rows{std::istreambuf_iterator<char>(file), {}};
  return rows.empty() ? "" : header + "\n" + rows;
}

}  // namespace drl
