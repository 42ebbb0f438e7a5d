// Writes all files of a run on a separate thread, so that the training loop never waits for a file system.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "report/csv.hpp"
#include "report/tensorboard.hpp"
#include "run/checkpoint_hook.hpp"
#include "store/checkpoint.hpp"

namespace drl {

class AsyncWriter {
 public:
  struct Save {
    std::filesystem::path path;
    Checkpoint checkpoint;
    bool droppable = true;             // dropped first when too many saves are pending
    std::function<void()> after_save;  // called on the writer's thread when the file is in place
    std::function<void()> after_hook;  // called on the writer's thread when the hook has ended, too
    int64_t iteration = 0;             // of the checkpoint: the step of its video in TensorBoard
  };

  // `events`, `hook` and `films` may be null. Rows are written every few seconds and before each checkpoint. `is_mine`
  // is called on the writer's thread; once it returns false (another process has taken over the run), nothing more is
  // written, including what is pending.
  AsyncWriter(std::unique_ptr<CsvWriter> csv, std::unique_ptr<EventWriter> events,
              std::unique_ptr<CheckpointHook> hook = nullptr, std::function<bool()> is_mine = {},
              std::unique_ptr<CheckpointHook> films = nullptr);
  ~AsyncWriter();  // writes everything that is pending
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  void append(const IterationMetrics& metrics);
  // Returns at once. If the file system is too slow, drops an earlier save that is still pending: the oldest droppable
  // one, or else the oldest one. A save that fails causes only a warning.
  void save(Save save);
  // Warns if the file that is being written has taken `limit` seconds so far, and again each time that this has
  // doubled. Call it from time to time during the training. Does not wait.
  void report_slow_write(double limit);
  // Waits until everything is written; after `quiet` seconds, logs what it is waiting for. Returns false if the last
  // save failed, or if another process has taken over the run.
  bool flush(double quiet = 5);
  // After flush(): whether rows of metrics could not be written.
  bool lacks_rows() const { return rows_failed_; }
  // Waits up to `patience` seconds for the hook and the videos. Returns false if SIGINT or SIGTERM cancelled a video.
  bool finish_hook(double patience);

  // Returns the checkpoints that commands still need. Call only from Save::after_save.
  std::vector<std::filesystem::path> checkpoints_in_use() const;

 private:
  void work();
  // Between these calls, `file` is the file that is being written.
  void begin_write(const std::filesystem::path& file);
  void end_write();
  // If the file that is being written should be reported, returns it with the seconds so far.
  std::optional<std::pair<std::filesystem::path, double>> slow_write(double limit);
  bool may_write() { return mine_ = mine_ && (!is_mine_ || is_mine_()); }
  void write_rows(const std::vector<IterationMetrics>& rows, bool sync);
  void write_checkpoint_file(const Save& save);
  bool hooks_busy() const { return (hook_ && hook_->busy()) || (films_ && films_->busy()); }
  void finish_hooks(double patience);
  void poll_hooks();

  std::unique_ptr<CsvWriter> csv_;
  std::unique_ptr<EventWriter> events_;
  std::unique_ptr<CheckpointHook> hook_, films_;
  std::function<bool()> is_mine_;
  bool mine_ = true, rows_failed_ = false;

  struct Write {
    std::filesystem::path file;
    double begin;            // steady_seconds()
    double next_report = 0;  // s after `begin`; 0 before the first report
    int64_t left_out = 0;    // saves that were dropped meanwhile
  };

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<IterationMetrics> rows_;
  std::deque<Save> saves_;
  std::optional<Write> write_;
  std::optional<double> hook_patience_;
  bool flush_ = false, stop_ = false, busy_ = false, saved_ = true;
  bool films_cancelled_ = false;
  std::thread thread_;
};

}  // namespace drl
