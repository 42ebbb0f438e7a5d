#include "run/run_monitor.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/host.hpp"
#include "base/ini.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "placement/mpirun.hpp"
#include "run/checkpoint_hook.hpp"
#include "run/restarts.hpp"

namespace drl {
namespace {

constexpr double kNoScore = -std::numeric_limits<double>::infinity();
constexpr double kStopFileInterval = 1.0;  // seconds between checks for the file STOP
constexpr double kNoLimit = 1e9;           // seconds
constexpr double kSlowWrite = 30;          // seconds after which the user learns that a file is still being written
constexpr double kEndOfJob = 5;            // seconds for the program to exit after everything is saved

// Under mpirun only the width of mpirun's terminal is known.
TerminalSize size_of_terminal() {
  TerminalSize size = terminal_size();
  if (const int width = terminal_width()) size.columns = width;
  return size;
}

double score_of_best(const std::filesystem::path& file, const std::string& kind) {
  if (!std::filesystem::exists(file)) return kNoScore;
  Checkpoint best;
  try {
    best = read_checkpoint(file);
  } catch (const UsageError& error) {
    log::warn("{}; the next checkpoint with a score replaces it", error.what());
    return kNoScore;
  }
  try {
    if (attribute<std::string>(best, file, "score_kind") != kind)
      return kNoScore;  // scores of different kinds are not comparable
    return attribute<double>(best, file, "score");
  } catch (const UsageError&) {
    return kNoScore;
  }
}

std::unique_ptr<EventWriter> make_events(const RunOptions& options, const std::filesystem::path& folder,
                                         const std::string& options_ini, std::optional<int64_t> resume_iteration) {
  if (options.logger == "none") return nullptr;
  // If the directory holds events of an earlier run, a new run makes TensorBoard drop them.
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (!resume_iteration && entry.path().filename().string().starts_with("events.out.tfevents")) resume_iteration = 0;
  auto events = std::make_unique<EventWriter>(folder, resume_iteration);
  std::vector<std::pair<std::string, std::string>> hparams;
  for (const IniEntry& entry : parse_ini(options_ini, "options.ini"))
    if (!entry.key.empty())
      hparams.emplace_back((entry.section.empty() ? "" : entry.section + ".") + entry.key, entry.value);
  events->append_hparams(hparams);
  events->append_text("options", "```\n" + options_ini + "```\n", resume_iteration.value_or(0));
  return events;
}

std::unique_ptr<CheckpointHook> make_hook(const RunOptions& options, const std::filesystem::path& folder) {
  const char* variable = std::getenv("DRL_AFTER_CHECKPOINT");
  const std::string command = !options.after_checkpoint.empty() ? options.after_checkpoint : variable ? variable : "";
  if (command.empty()) return nullptr;
  return std::make_unique<CheckpointHook>(command, folder / "logs" / "after_checkpoint.log");
}

}  // namespace

RunMonitor::RunMonitor(const RunOptions& options, const RunDirectory& directory, RunManifest& manifest,
                       std::string options_ini, const IterationMetrics& like, std::optional<int64_t> resume_iteration,
                       ConsoleMode mode, std::string resume_command, Deadline* deadline)
    : options_(options),
      directory_(directory),
      manifest_(manifest),
      options_ini_(std::move(options_ini)),
      resume_command_(std::move(resume_command)),
      mode_(mode),
      console_(std::cout, mode, steady_seconds, size_of_terminal),
      deadline_(deadline),
      balance_(manifest.facts().rank_hosts, options.balance_seconds) {
  const std::filesystem::path& folder = directory.path();
  if (resume_iteration) best_score_ = score_of_best(folder / "checkpoints" / "best.h5", score_kind());
  writer_ = std::make_unique<AsyncWriter>(
      std::make_unique<CsvWriter>(folder / "metrics.csv", like, resume_iteration),
      make_events(options_, folder, options_ini_, resume_iteration), make_hook(options_, folder),
      [this] { return is_mine(); }, make_films(options_, manifest.facts().task, folder, resume_iteration.value_or(0)));
  if (options_.squeue_comment && manifest.facts().job) comment_.emplace(*manifest.facts().job, manifest.facts().task);
  write_file_atomically(folder / "options.ini",
                        bytes_of(options_ini_));  // last, so that a start that fails does not change it
  log::to_file((folder / "logs" / "rank_0.log").string());
  if (mode_ == ConsoleMode::live)
    log::set_writer(
        [this](std::string_view line) { message(std::string(line.substr(0, line.find_last_not_of('\n') + 1))); });
}

RunMonitor::~RunMonitor() {
  writer_.reset();  // it may still log
  log::set_writer({});
  log::to_file("");
}

Stop RunMonitor::requested_stop() {
  Stop wanted = Stop::none;
  if (deadline_ && deadline_->reached()) {
    log::info("{}: saving the run so that it can be resumed", deadline_->reason());
    wanted = Stop::time_limit;
  }
  if (steady_seconds() - last_stop_check_ > kStopFileInterval) {
    last_stop_check_ = steady_seconds();
    directory_.require_usable();
    if (directory_.take_stop_request()) wanted = Stop::to_be_continued;
  }
  return wanted;
}

void RunMonitor::iteration(const IterationMetrics& metrics) {
  writer_->append(metrics);
  writer_->report_slow_write(kSlowWrite);
  if (comment_) comment_->update(metrics);
  const std::lock_guard lock(console_mutex_);
  console_.update(metrics);
}

// Ranks that share cores wait for the scheduler, and drl_train has already warned about that.
void RunMonitor::waiting(int64_t iteration, double seconds, std::span<const double> ranks) {
  const std::string advice = manifest_.facts().shares_cores ? "" : balance_.iteration(iteration, seconds, ranks);
  if (advice.empty()) return;
  log::warn("{}", advice);
  const Balance::SlowRank& slow = balance_.slowest();
  if (slow.rank < 0) return;
  manifest_.note_slow_rank(fmt::format("rank {} on {} since iteration {}: computes {:.1f} times as long as most others",
                                       slow.rank, slow.host, slow.since, slow.times));
  report_slow_host(slow.host);
}

void RunMonitor::message(const std::string& text) {
  const std::lock_guard lock(console_mutex_);
  console_.message(text);
}

std::string RunMonitor::score_kind() const {
  return options_.eval_interval > 0 ? "deterministic evaluation of 64 episodes" : "training mean";
}

Checkpoint RunMonitor::make_checkpoint(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors) const {
  const RunFacts& facts = manifest_.facts();
  Checkpoint checkpoint;
  checkpoint.attributes = {{"task", facts.task},
                           {"run", facts.run},
                           {"iteration", progress.iteration},
                           {"env_steps", progress.env_steps},
                           {"world_size", int64_t{facts.world_size}},
                           {"hosts", join(facts.hosts, ",")},
                           {"device", facts.device},
                           {"cpu_model", facts.cpu_model},
                           {"versions", versions_text(facts)},
                           {"git_hash", facts.git_hash},
                           {"options", options_ini_},
                           {"created", utc_time()},
                           {"elapsed_seconds", elapsed}};
  if (!facts.task_library.empty()) checkpoint.attributes["task_library"] = facts.task_library;
  if (!facts.files.empty()) checkpoint.attributes["files"] = facts.files;
  if (!facts.origin_option.empty()) checkpoint.attributes[facts.origin_option] = facts.origin;
  checkpoint.tensors = std::move(tensors);
  if (describe_policy_) describe_policy_(checkpoint);
  return checkpoint;
}

void RunMonitor::save(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors,
                      std::optional<double> score) {
  directory_.require_usable();
  Checkpoint checkpoint = make_checkpoint(progress, elapsed, std::move(tensors));
  const bool droppable = !score || !(*score > best_score_);
  if (score) checkpoint.attributes["score"] = *score, checkpoint.attributes["score_kind"] = score_kind();
  const auto after_save = [this, progress, score] {
    if (score && *score > best_score_) {
      directory_.mark_best(progress.iteration);
      best_score_ = *score;
    }
    directory_.prune(options_.keep_checkpoints, writer_->checkpoints_in_use());
    manifest_.write(progress, "running");
  };
  std::function<void()> after_hook;
  if (deadline_) after_hook = [deadline = deadline_, begin = deadline_->now()] { deadline->saved(begin); };
  writer_->save({directory_.checkpoint(progress.iteration), std::move(checkpoint), droppable, after_save, after_hook,
                 progress.iteration});
}

bool RunMonitor::finish(const RunProgress& progress, const std::string& status) {
  const bool saved = writer_->flush();
  directory_.require_usable();
  directory_.take_stop_request();  // removes a STOP that came too late, so that it does not stop the next start
  {
    const std::lock_guard lock(console_mutex_);
    console_.finish();
  }
  if (writer_->lacks_rows())
    log::warn("{} lacks the run's last rows (they could not be written): the checkpoints do not need them",
              (directory_.path() / "metrics.csv").string());
  if (!saved)
    fail(progress, "the last checkpoint could not be saved");
  else
    write_status(progress, status);
  return saved;
}

bool RunMonitor::finish_hook() {
  const double left = deadline_ ? deadline_->time_left().value_or(kNoLimit) : kNoLimit;
  return writer_->finish_hook(std::max(left - kEndOfJob, 0.0));
}

bool RunMonitor::is_mine() const {
  if (directory_.is_mine()) return true;
  log::to_file("");  // the log belongs to the run, too
  return false;
}

void RunMonitor::write_status(const RunProgress& progress, const std::string& status, const std::string& cause) const {
  try {
    manifest_.write(progress, status, cause);
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

void RunMonitor::fail(const RunProgress& progress, const std::string& cause) {
  writer_->flush();  // the writer's thread writes the manifest, too
  if (is_mine() && directory_.exists()) write_status(progress, "failed", cause);
}

}  // namespace drl
