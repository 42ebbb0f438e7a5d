// Does what only rank 0 does during a run: prints and writes metrics, saves checkpoints, checks for requests to stop.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "placement/stop.hpp"
#include "report/console.hpp"
#include "run/async_writer.hpp"
#include "run/balance.hpp"
#include "run/deadline.hpp"
#include "run/progress_comment.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/train_options.hpp"

namespace drl {

class RunMonitor {
 public:
  // Opens the run's files. `like` gives the names of the metrics. When resuming, removes rows and events after
  // `resume_iteration`. `directory`, `manifest` and `deadline` (null outside a Slurm job) must outlive this.
  RunMonitor(const RunOptions& options, const RunDirectory& directory, RunManifest& manifest, std::string options_ini,
             const IterationMetrics& like, std::optional<int64_t> resume_iteration, ConsoleMode mode,
             std::string resume_command, Deadline* deadline = nullptr);
  ~RunMonitor();

  // Returns the request to stop by the file STOP or the job's time limit. Call at the beginning of each iteration.
  Stop requested_stop();
  void iteration(const IterationMetrics& metrics);
  // Warns once if the ranks wait too long for each other. `ranks`: seconds that each rank waited in an iteration.
  void waiting(int64_t iteration, double seconds, std::span<const double> ranks);
  // From now on, describe(checkpoint) adds the description of the policy to each checkpoint (see
  // export/exported_policy.hpp).
  void describe_policies(std::function<void(Checkpoint&)> describe) { describe_policy_ = std::move(describe); }
  // Hands the state to the writer's thread. `elapsed`: seconds of the run over all its starts. If `score` is the best
  // so far, the checkpoint becomes best.h5.
  void save(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors, std::optional<double> score);
  void message(const std::string& text);
  // Waits until everything is written, and prints the last block. Returns false if the last checkpoint could not be
  // saved; metrics or run.json that cannot be written cause a warning. Throws Error, as requested_stop() and save() do,
  // if another process has taken over the run, or if its directory is gone.
  bool finish(const RunProgress& progress, const std::string& status);
  // Call after finish(): waits for --after_checkpoint and for videos as long as the job's time allows. Returns false if
  // SIGINT or SIGTERM cancelled a video.
  bool finish_hook();
  // Records in run.json that the run failed, if possible.
  void fail(const RunProgress& progress, const std::string& cause);

  const RunManifest& manifest() const { return manifest_; }
  const RunDirectory& directory() const { return directory_; }
  // The command that resumes this run.
  const std::string& resume_command() const { return resume_command_; }
  std::string score_kind() const;

 private:
  // Returns false if another process has taken over the run. Thread-safe.
  bool is_mine() const;
  // Writes run.json, or warns.
  void write_status(const RunProgress& progress, const std::string& status, const std::string& cause = "") const;
  Checkpoint make_checkpoint(const RunProgress& progress, double elapsed, std::vector<Tensor> tensors) const;

  RunOptions options_;
  const RunDirectory& directory_;
  RunManifest& manifest_;
  std::string options_ini_, resume_command_;
  std::function<void(Checkpoint&)> describe_policy_;
  // The score of best.h5. The writer's thread raises it once a better checkpoint is saved.
  std::atomic<double> best_score_ = -std::numeric_limits<double>::infinity();
  ConsoleMode mode_;
  std::mutex console_mutex_;  // messages may come from the writer's thread
  Console console_;
  Deadline* deadline_;
  Balance balance_;
  std::optional<ProgressComment> comment_;
  double last_stop_check_ = 0;  // when the file STOP was last looked for, steady_seconds()
  std::unique_ptr<AsyncWriter> writer_;
};

}  // namespace drl
