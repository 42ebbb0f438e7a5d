// Starting other programs: launchers that run drl again on several ranks, and commands that run beside the training.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace drl {

constexpr int kNotFound = 127;  // exit code of a child whose program could not be started, as in a shell

struct ChildSettings {
  std::vector<std::string> environment;  // "NAME=value"
  sigset_t signal_mask = {};
  bool own_group = false;    // separate process group, so that Ctrl-C in the terminal only reaches us
  int input = -1;            // file descriptor for stdin; /dev/null if negative
  int output = -1;           // file descriptor for stdout and stderr; ours if negative
  int errors = -1;           // file descriptor for stderr, if it differs from `output`
  bool ends_with_us = true;  // the child gets SIGTERM when the calling thread dies for any reason
};

// Returns this process's environment as "NAME=value" strings.
std::vector<std::string> environment_list();

// Starts `command` (found by PATH) with default signal handlers; ignored signals stay ignored. Returns -1, with the
// reason in errno, if it cannot be started.
pid_t spawn(const std::vector<std::string>& command, const ChildSettings& settings);

// Sends the signal to the processes below `ancestor` that run the same program as this process, and returns their
// number. It does not look below them. It compares the executable files of the processes: below an interpreter, such as
// valgrind or qemu, all programs are the interpreter, also the launcher. Ranks on other machines are not found; then
// the launcher must pass the signal on. `only_if_caught`: leaves out those that have no handler for the signal (yet).
int signal_same_program(pid_t ancestor, int signal, bool only_if_caught = false);

// Runs `command` to its end and returns its exit code as a shell reports it. Signals sent to this process or its
// descendants (Slurm may signal every process of a task) do not reach the command. It only receives the signals that
// `pending_signal` returns; that function is polled many times a second and returns 0 for none. If this process dies,
// the command gets SIGTERM.
int run_shielded(const std::vector<std::string>& command, const ChildSettings& settings,
                 const std::function<int()>& pending_signal);

// Runs `work` in a copy of this process, which is killed if this process dies, and returns its result as a shell
// reports it. For work that may end or abort its process. Call it before this process starts threads.
int run_in_copy(const std::function<int()>& work);

// Converts a status of waitpid to the exit code that a shell reports: the exit code, or 128 + signal.
int shell_code(int wait_status);

bool is_on_path(const std::string& program);

// A program that runs beside the training and never delays it: squeue, scontrol, a user's command. It has a separate
// process group, so that Ctrl-C in the terminal does not reach it, and lacks the variables that make this process a
// rank (without_launchers).
class BackgroundCommand {
 public:
  // Starts `command` (found by PATH). Its stdout and stderr are appended to the file `log`, or kept for output() if
  // `log` is empty; then it also lacks the user's defaults for squeue (SQUEUE_STATES, ...), which may hide jobs.
  explicit BackgroundCommand(const std::vector<std::string>& command, const std::string& log = "");
  // Kills the program if it still runs.
  ~BackgroundCommand();
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;

  // Returns the exit code as a shell reports it (127: could not be started, 128 + n: signal n); nullopt while it runs.
  std::optional<int> exit_code();
  // Waits at most `seconds` for the exit code.
  std::optional<int> wait(double seconds);
  // Returns what the program has written so far, at most 1 MiB.
  const std::string& output() const { return output_; }
  // Returns the last line of the output, in printable form for a message.
  std::string last_line() const;

 private:
  void read_output();

  pid_t pid_ = -1;
  Descriptor pipe_;
  std::string output_;
  std::optional<int> exit_code_;
};

}  // namespace drl
