// All that rank 0 alone does while a run goes on: shows and leaves its numbers behind, and looks for reasons to stop.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "report/console.hpp"
#include "run/async_writer.hpp"
#include "run/balance.hpp"
#include "run/deadline.hpp"
#include "run/progress_comment.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/stop.hpp"
#include "run/train_options.hpp"

namespace drl {

class RunMonitor {
 public:
  // Opens the files of the run, for metrics like those; rows and events past `resume_iteration` are cut if it goes on.
  // `directory` and `manifest` must outlive this, and so must `deadline`, which is null without a job.
  RunMonitor(const RunOptions& options, const RunDirectory& directory, const RunManifest& manifest,
             std::string options_ini, const IterationMetrics& like, std::optional<int64_t> resume_iteration,
             ConsoleMode mode, std::string command_to_go_on, Deadline* deadline = nullptr);
  ~RunMonitor();

  // Once an iteration, as it begins: the file STOP or the job's time limit.
  Stop requested_stop();
  void iteration(const IterationMetrics& metrics);
  // What each rank waited in an iteration, in seconds.
  void waiting(double iteration_time, std::span<const double> ranks);
  // Hands the state to the writer's thread. `elapsed` are the run's seconds over all its starts. `score`, if it is
  // the best so far, marks the checkpoint as best.
  void save(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors, std::optional<double> score);
  void message(const std::string& text);
  // Waits until all is written, and prints the last block. False if metrics or the last checkpoint could not be saved.
  // Throws Error, as requested_stop() and save() do, if the run is another process's.
  bool finish(const RunProgress& progress, const std::string& status);
  // After finish(): waits for --after_checkpoint and for films as long as the job's time allows. False if SIGINT or
  // SIGTERM came, and a film was given up.
  bool finish_hook();
  // Says in run.json that the run failed, if it still can.
  void fail(const RunProgress& progress);

  const RunDirectory& directory() const { return directory_; }
  // What the user types to go on with this run after a stop.
  const std::string& command_to_go_on() const { return command_to_go_on_; }
  std::string score_kind() const;

 private:
  // False if another process has taken the run over. May be called on any thread.
  bool is_mine() const;
  Checkpoint make_checkpoint(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors) const;

  RunOptions options_;
  const RunDirectory& directory_;
  const RunManifest& manifest_;
  std::string options_ini_, command_to_go_on_;
  // Of the checkpoint that best.h5 is; the writer's thread raises it when there is a better file.
  std::atomic<double> best_score_ = -std::numeric_limits<double>::infinity();
  ConsoleMode mode_;
  std::mutex console_mutex_;  // messages may come from the writer's thread
  Console console_;
  Deadline* deadline_;
  Balance balance_;
  std::optional<ProgressComment> comment_;
  double last_look_ = 0;  // for the file STOP, steady_seconds()
  std::unique_ptr<AsyncWriter> writer_;
};

}  // namespace drl
