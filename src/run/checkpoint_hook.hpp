// Runs commands after checkpoints: the user's (--after_checkpoint), and the one that records videos (--video_interval).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.hpp"
#include "run/train_options.hpp"

namespace drl {

// Not thread-safe: only one thread may use it at a time.
class CheckpointHook {
 public:
  // `command` is executed by /bin/sh, with the checkpoint's path as $1; its output is appended to `log`. Messages call
  // it `name`, or --after_checkpoint and the command if `name` is empty. It runs after every `interval`-th checkpoint;
  // the run has already saved `earlier` checkpoints.
  CheckpointHook(std::string command, std::filesystem::path log, std::string name = "", int interval = 1,
                 int64_t earlier = 0);

  // Starts the command and returns at once. When the command has ended, the next run(), poll() or finish() calls
  // `done`. If the command is still busy with an earlier checkpoint, only the newest checkpoint is queued.
  void run(const std::filesystem::path& checkpoint, std::function<void()> done = {});
  // Call regularly: handles the end of the command, and starts it for the queued checkpoint.
  void poll();
  bool busy() const { return running_.has_value(); }
  // Returns the checkpoints that the command is reading or will read.
  std::vector<std::filesystem::path> pending_checkpoints() const;
  // Waits until the command has ended, and logs a message after two seconds. Kills the command with a warning after
  // `patience` seconds, or once `stopped` returns true; returns false in the latter case.
  bool finish(double patience, const std::function<bool()>& stopped = {});

 private:
  void handle_exit(int code);
  void cancel(const std::string& why);

  std::string command_;
  std::filesystem::path log_;
  std::string name_;
  int interval_;
  int64_t checkpoints_;
  struct Work {
    std::filesystem::path checkpoint;
    std::function<void()> done;
  };
  std::optional<BackgroundCommand> running_;
  Work current_;
  std::optional<Work> next_;
  bool warned_ = false;
};

// Records videos of a run's checkpoints (--video_interval): drl_eval does so in the background.

// Checks before a run that videos can be recorded: drl_eval draws one picture, which takes about a second. Logs a
// message if the videos will be GIFs. Throws UsageError if the task has no draw(), or if this machine cannot record
// videos; the latter is only a warning if the run `is_resumed`.
void require_films(const RunOptions& options, const std::string& task, bool is_resumed);

// Returns the hook that records videos of the run in `folder`, which has finished `iteration` iterations. Returns null
// if --video_interval is 0. The recording has a low priority, so that it hardly slows the training.
std::unique_ptr<CheckpointHook> make_films(const RunOptions& options, const std::string& task,
                                           const std::filesystem::path& folder, int64_t iteration);
// Returns the video of a checkpoint as a GIF, for TensorBoard, or "" if there is none.
std::string take_film(const std::filesystem::path& checkpoint);

}  // namespace drl
