// Another program that runs beside the training and never holds it up: squeue, scontrol, a user's own command.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace drl {

// By posix_spawn: a fork would copy the page tables of a process with much memory, part of it registered with a network
// card. The program has an empty standard input, default signals and a process group of its own, so that Ctrl-C in the
// terminal does not reach it.
class BackgroundCommand {
 public:
  // Starts `command` (found by PATH). Its output and errors go to the end of the file `log`, or are kept for output()
  // if that is empty.
  explicit BackgroundCommand(const std::vector<std::string>& command, const std::string& log = "");
  // Ends a program that still runs.
  ~BackgroundCommand();
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;

  // Its exit code as a shell says it (127: could not be started, 128 + n: signal n); nullopt while it runs.
  std::optional<int> exit_code();
  // The same after at most `seconds`.
  std::optional<int> wait(double seconds);
  // What it has written, up to 1 MiB.
  const std::string& output() const { return output_; }
  // Its last line, as it may stand in a message.
  std::string last_words() const;

 private:
  void read_output();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
  std::optional<int> exit_code_;
};

}  // namespace drl
