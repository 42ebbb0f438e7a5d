// Other programs as children: those that stand for us, before this process has much memory, and those beside a
// training.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace drl {

constexpr int kNotFound = 127;  // a child's exit code when its program could not be started, as a shell says it

struct ChildSettings {
  std::vector<std::string> environment;  // "NAME=value"
  sigset_t signal_mask = {};
  bool own_group = false;    // a process group of its own: Ctrl-C in the terminal reaches us alone
  int input = -1;            // the file that it reads; an empty one if negative
  int output = -1;           // the file of its output and errors; ours if negative
  int errors = -1;           // that of its errors, if it is another one
  bool ends_with_us = true;  // the death of the calling thread, of whatever kind, sends it SIGTERM
};

// This process's environment, "NAME=value" each.
std::vector<std::string> environment_list();

// Starts `command` (found by PATH) with default signals, but for ignored ones. -1, with the
// reason in errno, if it cannot be started.
pid_t spawn(const std::vector<std::string>& command, const ChildSettings& settings);

// Runs `command` to its end and returns its exit code, as a shell would say it. Signals to this process or to those
// below it (Slurm may signal all that a task started) do not reach the command; only those that `pending_signal`
// returns do, asked many times a second, 0 for none. If this process dies, the command gets SIGTERM.
int run_shielded(const std::vector<std::string>& command, const ChildSettings& settings,
                 const std::function<int()>& pending_signal);

// What a shell would call the outcome of waitpid: the exit code, or 128 + signal.
int shell_code(int wait_status);

bool is_on_path(const std::string& program);

// Another program that runs beside the training and never holds it up: squeue, scontrol, a user's own command. It has a
// process group of its own, so that Ctrl-C in the terminal does not reach it.
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
  Descriptor pipe_;
  std::string output_;
  std::optional<int> exit_code_;
};

}  // namespace drl
