// Commands that run after checkpoints: the user's (--after_checkpoint), and the one that makes films
// (--video_interval).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.hpp"

namespace drl {

// Used by one thread at a time.
class CheckpointHook {
 public:
  // `command` is for /bin/sh, which finds the checkpoint's path in $1. What it prints goes to the end of `log`.
  // Messages call it `name` ("": --after_checkpoint and the command). It runs after every `interval`-th checkpoint
  // of a run that has had `earlier` ones.
  CheckpointHook(std::string command, std::filesystem::path log, std::string name = "", int interval = 1,
                 int64_t earlier = 0);

  // Returns at once; `done` is called by a later call, when the command has ended. While it is still busy with an
  // earlier checkpoint, only the newest one waits.
  void run(const std::filesystem::path& checkpoint, std::function<void()> done = {});
  // Call now and then: takes note of an end, and starts it for the checkpoint that waits.
  void poll();
  bool busy() const { return running_.has_value(); }
  // Checkpoints that it still reads, or will.
  std::vector<std::filesystem::path> awaits() const;
  // Until all is done, with a note if that takes more than two seconds; after `patience` seconds, or once `stopped`
  // says so, the command is ended, with a warning. False if it was `stopped`.
  bool finish(double patience, const std::function<bool()>& stopped = {});

 private:
  void ended(int code);
  void give_up(const std::string& why);

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
  Work at_;
  std::optional<Work> next_;
  bool warned_ = false;
};

}  // namespace drl
