#include "cluster/mpirun.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.hpp"
#include "cluster/launch_info.hpp"
#include "cluster/machine.hpp"

namespace drl {
namespace {

constexpr const char* kWidthVariable = "DRL_TERMINAL_WIDTH";
constexpr int kNoMpirun = 127;  // as a shell says it

// Where rank 0 leaves the exit code on which all ranks agree. For mpirun they then end with 0: it takes every other
// code for a failure, kills the ranks that still finish, and may report the code of any of them.
constexpr const char* kExitCodeVariable = "DRL_EXIT_CODE_FILE";

int own_terminal_width() {
  winsize size{};
  const char* terminal = std::getenv("TERM");
  if (!isatty(STDOUT_FILENO) || !terminal || std::strcmp(terminal, "dumb") == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

[[noreturn]] void execute(const std::vector<std::string>& command, const sigset_t& signal_mask) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // our death, of whatever kind, is its end
  sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
  execvp(argv[0], argv.data());
  _exit(kNoMpirun);
}

// mpirun in a process group of its own: Ctrl-C in the terminal reaches us alone, and we pass it on as a request.
pid_t spawn(const std::vector<std::string>& command, const sigset_t& signal_mask) {
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(std::string("several ranks cannot be started (fork: ") + std::strerror(errno) + "): use --ranks 1");
  if (pid > 0) return pid;
  setpgid(0, 0);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  execute(command, signal_mask);
}

int exit_code_for(int signal) { return signal == SIGUSR1 ? kContinue : signal == SIGINT ? kInterrupted : kTerminated; }

// mpirun's exit code. A signal that ended ranks which did not listen to requests yet ends the program as a request
// would.
int wait_and_pass_signals(pid_t pid, const sigset_t& signals) {
  int last_signal = 0;
  for (int status = 0;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      if (waitpid(pid, &status, WNOHANG) != pid) continue;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return last_signal && code == 128 + signal_for_ranks(last_signal) ? exit_code_for(last_signal) : code;
    }
    if (signal < 0) continue;
    last_signal = signal;
    kill(pid, signal_for_ranks(signal));
  }
}

// A file that no other program can guess, and that goes away.
class ExitCodeFile {
 public:
  ExitCodeFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/drl.XXXXXX";
    const int file = mkstemp(path_.data());
    if (file < 0)
      throw UsageError("no temporary file " + path_ + " (" + std::strerror(errno) +
                       "): set TMPDIR to a folder that can be written");
    close(file);
    setenv(kExitCodeVariable, path_.c_str(), 1);
  }
  ~ExitCodeFile() {
    unlink(path_.c_str());
    unsetenv(kExitCodeVariable);
  }
  ExitCodeFile(const ExitCodeFile&) = delete;
  ExitCodeFile& operator=(const ExitCodeFile&) = delete;

  // What rank 0 wrote; `otherwise` if it did not come to that.
  int code(int otherwise) const {
    int value = otherwise;
    std::ifstream(path_) >> value;
    return value;
  }

 private:
  std::string path_;
};

}  // namespace

std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
#ifdef OPEN_MPI
  // Quiet, because our own error lines say it.
  const std::vector<std::string> open_mpi = {"--quiet", "--oversubscribe", "--bind-to",
                                             ranks == cores ? "core" : "none"};
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
  const ExitCodeFile exit_code;
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const int status =
      wait_and_pass_signals(spawn(mpirun_command(ranks, this_machine().cores, command), before), signals);
  if (status == kNoMpirun)
    throw UsageError(
        "several ranks cannot be started (there is no mpirun): install Open MPI (Debian: openmpi-bin), load your "
        "site's MPI module, or use --ranks 1");
  const int code = exit_code.code(status);
  if (code > 128 && code == status && code != kInterrupted && code != kTerminated)
    throw Error("a rank was ended by signal " + std::to_string(code - 128) + " (" + strsignal(code - 128) +
                    "; memory may have run out), and so all were: go on from the last checkpoint with --load_run",
                code);
  return code;
}

int end_of_rank(int rank, int exit_code) {
  const char* path = std::getenv(kExitCodeVariable);
  if (!path) return exit_code;
  if (rank != 0) return kDone;
  std::ofstream file(path);
  file << exit_code << std::endl;
  return file ? int{kDone} : exit_code;
}

bool started_by_ourselves() { return std::getenv(kExitCodeVariable) != nullptr; }

int signal_for_ranks(int signal) {
  return signal == SIGINT ? SIGUSR2 : signal == SIGTERM || signal == SIGHUP ? SIGALRM : signal;
}

int terminal_width() {
  if (const char* width = std::getenv(kWidthVariable)) return std::atoi(width);
  if (launch_info().launcher != "mpirun") return own_terminal_width();
  std::error_code error;
  const auto target = std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/fd/1", error);
  return !error && target.string().starts_with("/dev/pts/") ? 80 : 0;
}

}  // namespace drl
