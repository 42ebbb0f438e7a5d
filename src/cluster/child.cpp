#include "cluster/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::vector<std::string> environment_list() {
  std::vector<std::string> list;
  for (char** variable = environ; *variable; ++variable) list.emplace_back(*variable);
  return list;
}

pid_t spawn(const std::vector<std::string>& command, const ChildSettings& settings) {
  const std::vector<char*> argv = pointers(command), envp = pointers(settings.environment);
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) throw Error(command.front() + " cannot be started (fork: " + std::strerror(errno) + "): use --ranks 1");
  if (pid > 0) return pid;
  if (settings.own_group) setpgid(0, 0);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotFound);       // it died before the line above
  for (int signal = 1; signal < NSIG; ++signal) {  // our handlers must not swallow what is meant for the program
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &settings.signal_mask, nullptr);
  execvpe(argv[0], argv.data(), envp.data());
  _exit(kNotFound);
}

namespace {

constexpr int kTick = 20;  // milliseconds between looks at a signal to send

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("no pipe (") + std::strerror(errno) + "): use --ranks 1");
    read_end = ends[0], write_end = ends[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

bool readable(int file) {
  pollfd waiting{file, POLLIN, 0};
  return poll(&waiting, 1, kTick) > 0;
}

// The shield: an orphan, which is not found below our process, and blocks all signals but SIGKILL.
[[noreturn]] void guard(const std::vector<std::string>& command, const ChildSettings& settings, int signals,
                        int outcome) {
  const pid_t pid = spawn(command, settings);
  for (int status = 0;;) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      const int code = shell_code(status);
      _exit(write(outcome, &code, sizeof(code)) == sizeof(code) ? 0 : 1);
    }
    int signal = 0;
    if (signals < 0) {
      poll(nullptr, 0, kTick);
    } else if (readable(signals)) {
      const bool alive = read(signals, &signal, sizeof(signal)) == sizeof(signal);
      kill(pid, alive ? signal : SIGTERM);
      if (!alive) signals = -1;
    }
  }
}

}  // namespace

int run_shielded(const std::vector<std::string>& command, const ChildSettings& settings,
                 const std::function<int()>& pending_signal) {
  Pipe signals, outcome;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    Pipe::close_end(signals.write_end);
    Pipe::close_end(outcome.read_end);
    try {
      guard(command, settings, signals.read_end, outcome.write_end);
    } catch (...) {  // no copy of us may go on beyond this
      _exit(kNotFound);
    }
  }
  const int error = errno;
  if (pid > 0) waitpid(pid, nullptr, 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) throw Error(command.front() + " cannot be started (fork: " + std::strerror(error) + "): use --ranks 1");
  Pipe::close_end(signals.read_end);
  Pipe::close_end(outcome.write_end);

  for (int sent = 0; !readable(outcome.read_end);)
    if (const int signal = pending_signal(); signal != sent) {
      sent = signal;
      if (write(signals.write_end, &signal, sizeof(signal)) < 0) break;
    }
  int code = 0;
  if (read(outcome.read_end, &code, sizeof(code)) != sizeof(code))
    throw Error(command.front() +
                " is not watched any more (its guard was killed; memory or processes may have run out): go on from the "
                "last checkpoint with --load_run");
  return code;
}

int shell_code(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "", ':'))
    if (access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace drl
