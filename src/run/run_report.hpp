// All that rank 0 shows and leaves behind while a run goes on.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "report/console.hpp"
#include "run/recorder.hpp"
#include "run/run_directory.hpp"
#include "run/run_record.hpp"
#include "run/train_options.hpp"

namespace drl {

class RunReport {
 public:
  // Opens the files of the run; rows and events past `resume_iteration` are cut if it goes on. `directory` and
  // `record` must outlive this.
  RunReport(const RunOptions& options, const RunDirectory& directory, const RunRecord& record, std::string options_ini,
            const std::vector<std::string>& reward_terms, std::optional<int64_t> resume_iteration, ConsoleMode mode,
            std::string command_to_go_on);
  ~RunReport();

  void iteration(const IterationMetrics& metrics);
  // Hands the state to the recorder's thread. `elapsed` are the run's seconds over all its starts. `score`, if it is
  // the best so far, marks the checkpoint as best.
  void save(int64_t iteration, int64_t env_steps, double elapsed, std::vector<Tensor> tensors,
            std::optional<double> score, const CommStats& comm);
  void message(const std::string& text);
  // Waits until all is written, and prints the last block. False if metrics or the last checkpoint could not be saved.
  bool finish(int64_t iteration, int64_t env_steps, const std::string& status, const CommStats& comm);

  const RunDirectory& directory() const { return directory_; }
  // What the user types to go on with this run after a stop.
  const std::string& command_to_go_on() const { return command_to_go_on_; }
  std::string score_kind() const;

 private:
  Checkpoint make_checkpoint(int64_t iteration, int64_t env_steps, double elapsed, std::vector<Tensor> tensors) const;

  RunOptions options_;
  const RunDirectory& directory_;
  const RunRecord& record_;
  std::string options_ini_, command_to_go_on_;
  std::optional<double> best_score_;  // of the best checkpoint, once there is one
  ConsoleMode mode_;
  std::mutex console_mutex_;  // messages may come from the recorder's thread
  Console console_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace drl
