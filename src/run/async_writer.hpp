// Everything that a run writes while it trains, on a thread of its own: the loop never waits for a file system.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
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
    bool droppable = true;       // goes first when too many are pending
    std::function<void()> then;  // on the writer's thread, after the file is in place
    std::function<void()> last;  // the same, after the hook too
  };

  // `events`, `hook` and `films` may be null. Rows reach the files every few seconds and before each checkpoint. Once
  // `is_mine`, asked on the writer's thread, has said that the run is another process's, nothing is written any more,
  // not even what is pending.
  AsyncWriter(std::unique_ptr<CsvWriter> csv, std::unique_ptr<EventWriter> events,
              std::unique_ptr<CheckpointHook> hook = nullptr, std::function<bool()> is_mine = {},
              std::unique_ptr<CheckpointHook> films = nullptr);
  ~AsyncWriter();  // writes what is pending
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  void append(const IterationMetrics& metrics);
  // Returns at once. When the file system is too slow, the oldest of several pending saves is dropped. One that fails
  // is a warning: the run goes on.
  void save(Save save);
  // Waits until everything is written. False if the last save failed, or rows are still in memory only, or the run is
  // another process's.
  bool flush();
  // Waits for the hook and the films, `patience` seconds at most. False if SIGINT or SIGTERM came, and a film was given
  // up.
  bool finish_hook(double patience);

  // In Save::then: checkpoints that commands still need.
  std::vector<std::filesystem::path> awaited() const;

 private:
  void work();
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

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<IterationMetrics> rows_;
  std::deque<Save> saves_;
  std::optional<double> hook_patience_;
  bool flush_ = false, stop_ = false, busy_ = false, saved_ = true;
  bool given_up_ = false;  // films
  std::thread thread_;
};

}  // namespace drl
