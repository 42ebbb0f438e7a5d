// Another program as a child that dies with us.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace drl {

constexpr int kNotFound = 127;  // a child's exit code when its program could not be started, as a shell says it

struct ChildSettings {
  std::vector<std::string> environment;  // "NAME=value"
  sigset_t signal_mask = {};
  bool own_group = false;  // a process group of its own: Ctrl-C in the terminal reaches us alone
};

// This process's environment, "NAME=value" each.
std::vector<std::string> environment_list();

// Starts `command` (found by PATH) with an empty standard input. The death of the calling thread, of whatever kind,
// sends it SIGTERM. Throws Error if there can be no process.
pid_t spawn(const std::vector<std::string>& command, const ChildSettings& settings);

// Runs `command` to its end and returns its exit code, as a shell would say it. Signals to this process or to those
// below it (Slurm may signal all that a task started) do not reach the command; only those that `pending_signal`
// returns do, asked many times a second, 0 for none. If this process dies, the command gets SIGTERM.
int run_shielded(const std::vector<std::string>& command, const ChildSettings& settings,
                 const std::function<int()>& pending_signal);

// What a shell would call the outcome of waitpid: the exit code, or 128 + signal.
int shell_code(int wait_status);

bool is_on_path(const std::string& program);

}  // namespace drl
