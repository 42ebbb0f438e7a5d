#include "placement/mpirun.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "comm/mpi_library.hpp"
#include "launch/child.hpp"
#include "launch/launch_info.hpp"
#include "placement/stop.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

constexpr const char* kWidthVariable = "DRL_TERMINAL_WIDTH";

// Returns the launcher of the MPI that drl was built with, because the first one on PATH may be another MPI's. If that
// file does not exist, because drl was moved to another machine, it returns the one on PATH.
const char* mpirun_program() { return access(DRL_MPIEXEC, X_OK) == 0 ? DRL_MPIEXEC : "mpirun"; }

// The file to which rank 0 writes that MPI has started, and later the exit code that all ranks agree on. The ranks
// themselves exit with 0, because mpirun takes any other code as a failure, kills the ranks that are still running, and
// may report any rank's code.
constexpr const char* kExitCodeVariable = "DRL_EXIT_CODE_FILE";
constexpr const char* kHasBegun = "begun";  // the file's text from MPI's start to the end

int own_terminal_width() {
  winsize size{};
  const char* terminal = std::getenv("TERM");
  if (!isatty(STDOUT_FILENO) || !terminal || std::strcmp(terminal, "dumb") == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// If a signal killed a rank, MPICH's mpiexec exits with the signal's number. Of drl's exit codes for failures, only 1
// and 2 are that small.
int as_shell_exit_code(int code) { return code > kUsage && code < 32 ? 128 + code : code; }

// The terminal's Ctrl-Z stops the ranks with us, and they continue with us.
void pause_with_ranks(pid_t mpirun) {
  signal_same_program(mpirun, SIGSTOP);
  raise(SIGSTOP);
}

// Returns whether the process has children, all of which have ended, and which it has not waited for (proc(5)).
bool has_only_dead_children(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream list(folder + "/task/" + std::to_string(process) + "/children");
  bool has_children = false;
  for (std::string child; list >> child; has_children = true)
    if (const auto found = process_stat(child); !found || !found->has_ended()) return false;
  return has_children;
}

// Continues mpirun and its ranks if they were stopped, because they could not end otherwise: ranks that end tell
// mpirun.
void let_end(pid_t mpirun) {
  kill(mpirun, SIGCONT);
  signal_same_program(mpirun, SIGCONT);
}

// Notices that mpirun hangs. Open MPI's may wait for a lock of its own for ever when it ends, if a rank was killed
// while it was starting.
class EndWatch {
 public:
  static constexpr timespec kInterval{5, 0};

  // Call it every kInterval. Returns true if all ranks have ended for half a minute. Warns if mpirun is stopped: nobody
  // then reads what the ranks write, and a rank that fails does not end the others.
  bool hangs(pid_t mpirun) {
    const std::optional<ProcessStat> found = process_stat(std::to_string(mpirun));
    const bool is_stopped = found && found->is_stopped();
    if (is_stopped && !was_stopped_)
      log::warn(
          "mpirun (process {0}) is stopped (a signal such as SIGSTOP did it), and the run waits for it: kill -CONT "
          "{0} continues it, and SIGTERM ends the run",
          mpirun);
    was_stopped_ = is_stopped;
    return (looks_ = has_only_dead_children(mpirun) ? looks_ + 1 : 0) >= 6;
  }

 private:
  int looks_ = 0;
  bool was_stopped_ = false;
};

// Passes signals on to the ranks until mpirun ends, and returns its exit code. Not through mpirun, which forwards few
// signals and kills the ranks on the others. If a signal comes before there are ranks, it ends mpirun. It may also kill
// ranks that do not handle requests to stop yet, and then MPICH's mpiexec may return 0. In both cases, this returns the
// exit code of a stop request.
//
// A signal after which the run is continued waits until the ranks handle it, as does `held`, which came before (0:
// none): the run then ends after its first iteration, with a checkpoint.
int wait_and_pass_signals(pid_t mpirun, const sigset_t& signals, int held) {
  constexpr timespec kHoldInterval{0, 50'000'000};
  int request = held;
  bool came_early = false;
  EndWatch watch;
  for (int status = 0;;) {
    if (held && (signal_same_program(mpirun, held, true) > 0 || has_only_dead_children(mpirun))) held = 0;
    siginfo_t info;
    const int signal = sigtimedwait(&signals, &info, held ? &kHoldInterval : &EndWatch::kInterval);
    if (signal < 0) {
      if (errno == EAGAIN && !held && watch.hangs(mpirun)) kill(mpirun, SIGKILL);
      continue;
    }
    if (signal == SIGCHLD) {
      if (waitpid(mpirun, &status, WNOHANG) != mpirun) continue;
      const int code = as_shell_exit_code(shell_code(status));
      const bool is_killed = came_early || code == kDone || code == 128 + request;
      return request && is_killed ? exit_code_of(stop_of(request)) : code;
    }
    if (signal == SIGTSTP) pause_with_ranks(mpirun);
    if (signal == SIGCONT) signal_same_program(mpirun, SIGCONT);
    if (stop_of(signal) == Stop::none) continue;
    request = signal;
    note_stop(stop_of(signal));
    let_end(mpirun);
    held = exit_code_of(stop_of(signal)) == kContinue ? signal : 0;
    came_early = !held && signal_same_program(mpirun, signal) == 0;
    if (came_early) {
      log::info("stopped by {} while no rank was running", name_of(stop_of(signal)));
      kill(mpirun, SIGTERM);
    }
  }
}

// Blocks signals of this process for as long as it exists.
class HeldSignals {
 public:
  explicit HeldSignals(const sigset_t& signals) { sigprocmask(SIG_BLOCK, &signals, &before_); }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

class ExitCodeFile {
 public:
  ExitCodeFile() { setenv(kExitCodeVariable, file_.path().c_str(), 1); }
  ~ExitCodeFile() { unsetenv(kExitCodeVariable); }
  ExitCodeFile(const ExitCodeFile&) = delete;
  ExitCodeFile& operator=(const ExitCodeFile&) = delete;

  // Returns whether rank 0 has written anything: that MPI has started, or an exit code.
  bool has_text() const { return !file_.text().empty(); }
  // Returns the code that rank 0 wrote, or `otherwise` if it wrote none.
  int code(int otherwise) const { return number_in<int>(file_.text()).value_or(otherwise); }

 private:
  TempFile file_{"drl"};
};

// Returns what usually sends a signal to a rank.
const char* usual_cause(int signal) {
  if (signal == SIGKILL) return "memory may have run out";
  if (signal == SIGBUS) return "the memory or /dev/shm may be full";
  if (signal == SIGXCPU || signal == SIGXFSZ) return "a limit of the shell, see ulimit -a";
  if (signal == SIGABRT) return "an error in the program, or no more processes, ulimit -u";
  if (signal == SIGSEGV || signal == SIGFPE || signal == SIGILL)
    return "an error in the program or in a task's library";
  return "sent by another program";
}

// --- A launcher that fails by itself ---

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// Gives mpirun what it needs to start, where drl can: without a home directory, Open MPI 4 crashes, and it ends if
// TMPDIR cannot be used. Nobody but root can write to /, from which MPI may then read settings.
void help_launcher() {
  if (!is_set("HOME") && !getpwuid(geteuid())) setenv("HOME", "/", 1);
  if (const std::string folder = temp_folder(); is_set("TMPDIR") && folder != std::getenv("TMPDIR")) {
    log::warn("TMPDIR={} is not a directory that you can write to: MPI uses {}", shown(std::getenv("TMPDIR")), folder);
    setenv("TMPDIR", folder.c_str(), 1);
  }
}

bool has_network_interface() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return true;  // unknown
  bool found = false;
  for (const ifaddrs* one = all; one; one = one->ifa_next)
    found |= (one->ifa_flags & IFF_UP) && one->ifa_addr &&
             (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6);
  freeifaddrs(all);
  return found;
}

LauncherPlace launcher_place() {
  LauncherPlace place{.mpi = is_open_mpi() ? "Open MPI" : "MPICH", .folder = temp_folder()};
  struct statvfs disk {};
  if (statvfs(place.folder.c_str(), &disk) == 0)
    place.free_bytes = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  place.has_network = has_network_interface();
  for (const std::string& variable : environment_list())
    if (variable.starts_with("OMPI_MCA_") || variable.starts_with("PMIX_MCA_") || variable.starts_with("PRTE_MCA_"))
      place.settings.push_back(variable);
  return place;
}

}  // namespace

std::string launcher_failure(const LauncherPlace& place, int code) {
  constexpr double kEnough = 12 << 20;  // with 8 MiB, Open MPI 4 fails
  const auto problem = [&](const std::string& why, const std::string& what) {
    return fmt::format("{} could not start the ranks ({}): {}", place.mpi, why, what);
  };
  if (place.free_bytes >= 0 && place.free_bytes < kEnough)
    return problem(
        fmt::format("only {} are free in {}, where it keeps files", human_bytes(place.free_bytes), place.folder),
        "free some space there, or set TMPDIR to another directory");
  if (!place.has_network)
    return problem("no network interface is up, not even the loopback interface, by which its processes connect",
                   "start drl where there is a network (in a container or namespace: ip link set lo up), or use "
                   "--ranks 1");
  const std::string settings =
      place.settings.empty() ? "" : ", and the settings " + join(at_most(4, place.settings, "", " more"), ", ");
  const std::string end = code > 128
                              ? fmt::format("a process was killed by signal {}, {},", code - 128, strsignal(code - 128))
                              : fmt::format("mpiexec ended with exit code {}", code);
  return problem(end + " before MPI had started; a message of MPI may stand above",
                 "look at the directory " + place.folder + " (TMPDIR), the home directory (HOME), the network, memory" +
                     settings + ", or use --ranks 1, which needs no launcher");
}

std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command) {
  std::vector<std::string> words = {mpirun_program(), "-n", std::to_string(ranks)};
  if (is_open_mpi())  // quiet, because drl prints its own error messages
    for (const char* word : {"--quiet", "--oversubscribe", "--bind-to", ranks == cores ? "core" : "none"})
      words.push_back(word);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

int run_under_mpirun(int ranks, const std::vector<std::string>& command) {
  if (const int width = own_terminal_width()) setenv(kWidthVariable, std::to_string(width).c_str(), 1);
  // mpirun refuses to run as root by default, to protect shared systems; here the user chose to run drl as root.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  help_launcher();
  const ExitCodeFile exit_code;
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : stop_signals()) sigaddset(&signals, signal);
  for (int signal : {SIGCHLD, SIGCONT}) sigaddset(&signals, signal);
  if (!is_ignored(SIGTSTP)) sigaddset(&signals, SIGTSTP);
  // A separate process group: Ctrl-C in the terminal only reaches us, and we forward it as a request to stop.
  const HeldSignals held(signals);
  ChildSettings settings{.environment = environment_list(), .signal_mask = held.before(), .own_group = true};
  const Stop stop = requested_stop();  // now or never: from here on, signals wait
  if (exit_code_of(stop) > kContinue) {
    log::info("stopped by {} before the ranks were started", name_of(stop));
    return exit_code_of(stop);
  }
  sigaddset(&settings.signal_mask, SIGPIPE);  // else Open MPI's mpirun ends the ranks when the console's reader ends
  const pid_t mpirun = spawn(mpirun_command(ranks, this_machine().allowed_cores, command), settings);
  if (mpirun < 0)
    throw UsageError(std::string("cannot start several ranks (mpirun: ") + reason_of(errno) +
                     "): load the module of the MPI that drl was built with or install this MPI, or use --ranks 1");
  const int status = wait_and_pass_signals(mpirun, signals, stop == Stop::none ? 0 : SIGUSR1);
  const int code = exit_code.code(status);
  const bool is_stopped = code == kContinue || code == kInterrupted || code == kTerminated;
  if (code != kDone && !is_stopped && !exit_code.has_text())
    throw Error(launcher_failure(launcher_place(), code), code);
  if (code > 128 && code < 128 + NSIG && code == status && !is_stopped)
    throw Error(fmt::format("a rank was killed by signal {}, which ended all ranks ({}; {}): continue from the last "
                            "checkpoint with --load_run",
                            code - 128, strsignal(code - 128), usual_cause(code - 128)),
                code);
  return code;
}

void report_begin(int rank) {
  const char* path = std::getenv(kExitCodeVariable);
  if (path && rank == 0) write_own_file(path, kHasBegun);
}

int report_exit_code(int rank, int exit_code) {
  const char* path = std::getenv(kExitCodeVariable);
  if (!path) return exit_code;
  if (rank != 0) return kDone;
  return write_own_file(path, std::to_string(exit_code)) ? int{kDone} : exit_code;
}

bool started_by_ourselves() { return std::getenv(kExitCodeVariable) != nullptr; }

int terminal_width() {
  if (const char* width = std::getenv(kWidthVariable)) return std::atoi(width);
  if (launch_info().launcher != "mpirun") return own_terminal_width();
  std::error_code error;
  const auto target = std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/fd/1", error);
  return !error && target.string().starts_with("/dev/pts/") ? 80 : 0;
}

}  // namespace drl
