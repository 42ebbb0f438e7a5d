#include "cluster/mpirun.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.hpp"
#include "cluster/launch_info.hpp"
#include "cluster/machine.hpp"

extern char** environ;

namespace drl {
namespace {

constexpr const char* kWidthVariable = "DRL_TERMINAL_WIDTH";

// Seconds between mpirun's SIGTERM and its SIGKILL; its own default of 1 is too short to save a checkpoint.
constexpr const char* kSecondsToSave = "60";

int own_terminal_width() {
  winsize size{};
  if (!isatty(STDOUT_FILENO)) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// mpirun in a process group of its own: Ctrl-C in the terminal reaches us alone, and we pass it on as a request.
pid_t spawn(const std::vector<std::string>& command, const sigset_t& signal_mask) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signal_mask);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error)
    throw UsageError("several ranks cannot be started (" + command[0] + ": " + std::strerror(error) +
                     "): install Open MPI (Debian: openmpi-bin), load your site's MPI module, or use --ranks 1");
  return pid;
}

// SIGUSR1 and SIGUSR2 are what mpirun passes on unchanged: SIGUSR2 stands for an interrupt.
int passed_on_as(int signal) { return signal == SIGINT ? SIGUSR2 : signal; }

int exit_code_of(int status, int stop_signal) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 0 || stop_signal == 0) return code;
  return stop_signal == SIGINT ? kInterrupted : kTerminated;
}

int wait_and_pass_signals(pid_t pid, const sigset_t& signals) {
  int stop_signal = 0;
  for (int status = 0;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      if (waitpid(pid, &status, WNOHANG) == pid) return exit_code_of(status, stop_signal);
    } else if (signal > 0) {
      if (signal != SIGUSR1) stop_signal = signal;
      kill(pid, passed_on_as(signal));
    }
  }
}

}  // namespace

std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
#ifdef OPEN_MPI
  const std::vector<std::string> open_mpi = {
      "--quiet",  // our own error lines say it
      "--oversubscribe", "--bind-to", ranks <= cores ? "core" : "none", "--mca", "odls_base_sigkill_timeout", kSecondsToSave,
      "--mca", "orte_abort_on_non_zero_status", "0"};  // all ranks end with their own, equal exit code
  words.insert(words.end(), open_mpi.begin(), open_mpi.end());
#endif
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

int run_under_mpirun(int ranks, const std::vector<std::string>& command) {
  if (const int width = own_terminal_width()) setenv(kWidthVariable, std::to_string(width).c_str(), 1);
  // These ranks are children of the user who typed the command; mpirun's warning about root is for shared daemons.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t pid = spawn(mpirun_command(ranks, this_machine().cores, command), before);
  return wait_and_pass_signals(pid, signals);
}

int terminal_width() {
  if (const char* width = std::getenv(kWidthVariable)) return std::atoi(width);
  if (launch_info().launcher != "mpirun") return own_terminal_width();
  std::error_code error;
  const auto target = std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/fd/1", error);
  return !error && target.string().starts_with("/dev/pts/") ? 80 : 0;
}

}  // namespace drl
