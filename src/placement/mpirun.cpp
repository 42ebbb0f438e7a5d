#include "placement/mpirun.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "comm/mpi_library.hpp"
#include "launch/child.hpp"
#include "launch/launch_info.hpp"
#include "placement/machine.hpp"

namespace drl {
namespace {

constexpr const char* kWidthVariable = "DRL_TERMINAL_WIDTH";

// Forwarded to the ranks by mpirun, which takes SIGINT itself for the order to end them. MPICH's mpiexec does not
// forward SIGUSR2: it dies of it.
int stand_in_for_interrupt() { return is_open_mpi() ? SIGUSR2 : SIGQUIT; }

// The launcher of the MPI that drl was built with, since the first on PATH may be another MPI's; where that file is no
// more, because drl moved to another machine, the one on PATH.
const char* mpirun_program() { return access(DRL_MPIEXEC, X_OK) == 0 ? DRL_MPIEXEC : "mpirun"; }

// Where rank 0 leaves the exit code on which all ranks agree. For mpirun they then end with 0: it takes every other
// code for a failure, kills the ranks that still finish, and may report the code of any of them.
constexpr const char* kExitCodeVariable = "DRL_EXIT_CODE_FILE";

int own_terminal_width() {
  winsize size{};
  const char* terminal = std::getenv("TERM");
  if (!isatty(STDOUT_FILENO) || !terminal || std::strcmp(terminal, "dumb") == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int exit_code_for(int signal) { return signal == SIGUSR1 ? kContinue : signal == SIGINT ? kInterrupted : kTerminated; }

// MPICH's mpiexec tells the signal that ended a rank by its bare number; no exit code of ours is as small, but 1 and 2.
int with_signals_as_shells_say_them(int code) { return code > kUsage && code < 32 ? 128 + code : code; }

// mpirun's exit code. A signal that ended ranks which did not listen to requests yet ends the program as a request
// would; also where MPICH's mpiexec makes 0 of it. Ranks that end by themselves leave their code in a file.
int wait_and_pass_signals(pid_t pid, const sigset_t& signals) {
  int last_signal = 0;
  for (int status = 0;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      if (waitpid(pid, &status, WNOHANG) != pid) continue;
      const int code = with_signals_as_shells_say_them(shell_code(status));
      return last_signal && (code == kDone || code == 128 + signal_for_ranks(last_signal)) ? exit_code_for(last_signal)
                                                                                           : code;
    }
    if (signal < 0) continue;
    last_signal = signal;
    kill(pid, signal_for_ranks(signal));
  }
}

class ExitCodeFile {
 public:
  ExitCodeFile() { setenv(kExitCodeVariable, file_.path().c_str(), 1); }
  ~ExitCodeFile() { unsetenv(kExitCodeVariable); }
  ExitCodeFile(const ExitCodeFile&) = delete;
  ExitCodeFile& operator=(const ExitCodeFile&) = delete;

  // What rank 0 wrote; `otherwise` if it did not come to that.
  int code(int otherwise) const {
    const std::string text = file_.text();
    return text.empty() ? otherwise : std::atoi(text.c_str());
  }

 private:
  TempFile file_{"drl"};
};

}  // namespace

std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command) {
  std::vector<std::string> words = {mpirun_program(), "-n", std::to_string(ranks)};
  if (is_open_mpi())  // quiet, because our own error lines say it
    for (const char* word : {"--quiet", "--oversubscribe", "--bind-to", ranks == cores ? "core" : "none"})
      words.push_back(word);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

int run_under_mpirun(int ranks, const std::vector<std::string>& command) {
  if (const int width = own_terminal_width()) setenv(kWidthVariable, std::to_string(width).c_str(), 1);
  // These ranks are children of the user who typed the command; mpirun's warning about root is for shared daemons.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  const ExitCodeFile exit_code;
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&signals, signal);
  // In a process group of its own: Ctrl-C in the terminal reaches us alone, and we pass it on as a request.
  ChildSettings settings{.environment = environment_list(), .signal_mask = {}, .own_group = true};
  sigprocmask(SIG_BLOCK, &signals, &settings.signal_mask);
  const pid_t mpirun = spawn(mpirun_command(ranks, this_machine().cores, command), settings);
  if (mpirun < 0)
    throw UsageError(std::string("several ranks cannot be started (mpirun: ") + std::strerror(errno) +
                     "): install that of the MPI that drl was built with, load your site's MPI module, or use --ranks "
                     "1");
  const int status = wait_and_pass_signals(mpirun, signals);
  const int code = exit_code.code(status);
  if (code > 128 && code < 128 + NSIG && code == status && code != kInterrupted && code != kTerminated)
    throw Error(fmt::format("a rank was ended by signal {} ({}; memory may have run out), and so all were: go on from "
                            "the last checkpoint with --load_run",
                            code - 128, strsignal(code - 128)),
                code);
  return code;
}

int end_of_rank(int rank, int exit_code) {
  const char* path = std::getenv(kExitCodeVariable);
  if (!path) return exit_code;
  if (rank != 0) return kDone;
  return write_own_file(path, std::to_string(exit_code)) ? int{kDone} : exit_code;
}

bool started_by_ourselves() { return std::getenv(kExitCodeVariable) != nullptr; }

int signal_for_ranks(int signal) {
  return signal == SIGINT ? stand_in_for_interrupt() : signal == SIGTERM || signal == SIGHUP ? SIGALRM : signal;
}

int terminal_width() {
  if (const char* width = std::getenv(kWidthVariable)) return std::atoi(width);
  if (launch_info().launcher != "mpirun") return own_terminal_width();
  std::error_code error;
  const auto target = std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/fd/1", error);
  return !error && target.string().starts_with("/dev/pts/") ? 80 : 0;
}

}  // namespace drl
