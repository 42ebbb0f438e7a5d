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
  // Opens the files of the run; rows and events past `iteration` are cut if it goes on. `elapsed` are the seconds that
  // the run took before this start. `directory` and `record` must outlive this.
  RunReport(const RunOptions& options, const RunDirectory& directory, const RunRecord& record, std::string options_ini,
            const std::vector<std::string>& reward_terms, std::optional<int64_t> resume_iteration, ConsoleMode mode);
  ~RunReport();

  void iteration(const IterationMetrics& metrics);
  // Hands the state to the recorder's thread. `score`, if it is the best so far, marks the checkpoint as best.
  void save(int64_t iteration, int64_t env_steps, double elapsed, std::vector<Tensor> tensors, std::optional<double> score,
            const CommStats& comm);
  void message(const std::string& text);
  // Waits until all is written, and prints the last block. False if the last checkpoint could not be saved.
  bool finish(int64_t iteration, int64_t env_steps, double elapsed, const std::string& status, const CommStats& comm);

  const RunDirectory& directory() const { return directory_; }
  std::string score_kind() const;
  // Of the best checkpoint: its score, once there is one.
  std::optional<double> best_score() const { return best_score_; }

 private:
  Checkpoint make_checkpoint(int64_t iteration, int64_t env_steps, double elapsed, std::vector<Tensor> tensors) const;

  RunOptions options_;
  const RunDirectory& directory_;
  const RunRecord& record_;
  std::string options_ini_;
  std::optional<double> best_score_;
  ConsoleMode mode_;
  std::mutex console_mutex_;  // messages may come from the recorder's thread
  Console console_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace drl
