#include "run/run_report.hpp"

#include <iostream>

#include "base/check.hpp"
#include "base/log.hpp"
#include "cluster/machine.hpp"
#include "cluster/mpirun.hpp"

namespace drl {
namespace {

// Behind mpirun the width is known from its own terminal only.
TerminalSize size_of_terminal() {
  TerminalSize size = terminal_size();
  if (const int width = terminal_width()) size.columns = width;
  return size;
}

std::optional<double> score_of_best(const std::filesystem::path& file, const std::string& kind) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  Checkpoint best;
  try {
    best = read_checkpoint(file);
  } catch (const UsageError& error) {
    log::warn("{}; the next best will take its place", error.what());
    return std::nullopt;
  }
  const auto found_kind = best.attributes.find("score_kind"), score = best.attributes.find("score");
  if (found_kind == best.attributes.end() || score == best.attributes.end()) return std::nullopt;
  if (std::get<std::string>(found_kind->second) != kind) return std::nullopt;  // not comparable
  return std::get<double>(score->second);
}

std::unique_ptr<EventWriter> make_events(const RunOptions& options, const std::filesystem::path& folder,
                                         const std::string& options_ini, std::optional<int64_t> resume_iteration) {
  if (options.logger == "none") return nullptr;
  // A run that begins anew where an earlier one left events tells TensorBoard to drop those.
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (!resume_iteration && entry.path().filename().string().starts_with("events.out.tfevents")) resume_iteration = 0;
  auto events = std::make_unique<EventWriter>(folder, resume_iteration);
  events->append_text("options", "```\n" + options_ini + "```\n", resume_iteration.value_or(0));
  return events;
}

}  // namespace

RunReport::RunReport(const RunOptions& options, const RunDirectory& directory, const RunRecord& record,
                     std::string options_ini, const std::vector<std::string>& reward_terms,
                     std::optional<int64_t> resume_iteration, ConsoleMode mode, std::string command_to_go_on)
    : options_(options),
      directory_(directory),
      record_(record),
      options_ini_(std::move(options_ini)),
      command_to_go_on_(std::move(command_to_go_on)),
      mode_(mode),
      console_(std::cout, mode, steady_seconds, size_of_terminal) {
  const std::filesystem::path& folder = directory.path();
  if (resume_iteration) best_score_ = score_of_best(folder / "checkpoints" / "best.h5", score_kind());
  recorder_ =
      std::make_unique<Recorder>(std::make_unique<CsvWriter>(folder / "metrics.csv", reward_terms, resume_iteration),
                                 make_events(options_, folder, options_ini_, resume_iteration));
  write_file_atomically(folder / "options.ini", bytes_of(options_ini_));  // last: a refused start changes no option
  log::to_file((folder / "logs" / "rank_0.log").string());
  if (mode_ == ConsoleMode::live)
    log::set_writer(
        [this](std::string_view line) { message(std::string(line.substr(0, line.find_last_not_of('\n') + 1))); });
}

RunReport::~RunReport() {
  recorder_.reset();  // it may still log
  log::set_writer({});
  log::to_file("");
}

void RunReport::iteration(const IterationMetrics& metrics) {
  recorder_->append(metrics);
  const std::lock_guard lock(console_mutex_);
  console_.update(metrics);
}

void RunReport::message(const std::string& text) {
  const std::lock_guard lock(console_mutex_);
  console_.message(text);
}

std::string RunReport::score_kind() const {
  return options_.eval_interval > 0 ? "deterministic evaluation of 64 episodes" : "training mean";
}

Checkpoint RunReport::make_checkpoint(int64_t iteration, int64_t env_steps, double elapsed,
                                      std::vector<Tensor> tensors) const {
  const RunFacts& facts = record_.facts();
  std::string hosts;
  for (const std::string& host : facts.hosts) hosts += (hosts.empty() ? "" : ",") + host;
  Checkpoint checkpoint;
  checkpoint.attributes = {{"task", facts.task},
                           {"run", facts.run},
                           {"iteration", iteration},
                           {"env_steps", env_steps},
                           {"world_size", int64_t{facts.world_size}},
                           {"hosts", hosts},
                           {"device", facts.device},
                           {"cpu_model", facts.cpu_model},
                           {"versions", versions_text(facts)},
                           {"git_hash", facts.git_hash},
                           {"options", options_ini_},
                           {"created", utc_time()},
                           {"elapsed_seconds", elapsed}};
  checkpoint.tensors = std::move(tensors);
  return checkpoint;
}

void RunReport::save(int64_t iteration, int64_t env_steps, double elapsed, std::vector<Tensor> tensors,
                     std::optional<double> score, const CommStats& comm) {
  Checkpoint checkpoint = make_checkpoint(iteration, env_steps, elapsed, std::move(tensors));
  const bool best = score && (!best_score_ || *score > *best_score_);
  if (best) best_score_ = score;
  if (score) checkpoint.attributes["score"] = *score, checkpoint.attributes["score_kind"] = score_kind();
  const auto then = [this, iteration, env_steps, best, comm] {
    if (best) directory_.mark_best(iteration);
    directory_.prune(options_.keep_checkpoints);
    record_.write(iteration, env_steps, "running", comm);
  };
  recorder_->save({directory_.checkpoint(iteration), std::move(checkpoint), !best, then});
}

bool RunReport::finish(int64_t iteration, int64_t env_steps, const std::string& status, const CommStats& comm) {
  const bool saved = recorder_->flush();
  {
    const std::lock_guard lock(console_mutex_);
    console_.finish();
  }
  if (saved) record_.write(iteration, env_steps, status, comm);
  return saved;
}

}  // namespace drl
