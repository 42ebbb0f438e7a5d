// Runs commands after checkpoints: the user's (--after_checkpoint), and the one that records videos (--video_interval).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.hpp"

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

}  // namespace drl
