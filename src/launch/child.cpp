#include "launch/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "launch/environment.hpp"

namespace fs = std::filesystem;

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

// Uses vfork, because fork would copy the page tables of a process that may have much memory, part of it registered
// with a network card. Until exec, the child shares our memory, so it only makes system calls, and signals are blocked
// so that no handler runs in it.
pid_t spawn(const std::vector<std::string>& command, const ChildSettings& settings) {
  const std::vector<char*> argv = pointers(command), envp = pointers(settings.environment);
  const BlockedSignals blocked;
  const pid_t parent = getpid();
  volatile int failure = 0;
  const pid_t pid = vfork();
  if (pid == 0) {
    if (settings.own_group) setpgid(0, 0);
    if (const int input = settings.input >= 0 ? settings.input : open("/dev/null", O_RDONLY); input >= 0)
      dup2(input, STDIN_FILENO);
    if (settings.output >= 0) dup2(settings.output, STDOUT_FILENO), dup2(settings.output, STDERR_FILENO);
    if (settings.errors >= 0) dup2(settings.errors, STDERR_FILENO);
    if (settings.ends_with_us) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (settings.ends_with_us && getppid() != parent) _exit(kNotFound);  // the parent died before the line above
    for (int signal = 1; signal < NSIG; ++signal) {  // our handlers must not swallow signals meant for the program
      struct sigaction action {};
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &settings.signal_mask, nullptr);
    execvpe(argv[0], argv.data(), envp.data());
    failure = errno;
    _exit(kNotFound);
  }
  if (pid < 0) failure = errno;
  if (pid > 0 && failure) waitpid(pid, nullptr, 0);
  errno = failure;
  return failure ? -1 : pid;
}

namespace {

// Returns the processes of this machine by their parent.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  for (const fs::path& entry : entries_of("/proc")) {
    const std::string name = entry.filename();
    const auto pid = number_in<pid_t>(name);
    if (!pid) continue;
    if (const auto process = process_stat(name)) children.emplace(process->parent, *pid);
  }
  return children;
}

fs::path program_of(const std::string& process) {
  std::error_code error;
  return fs::read_symlink("/proc/" + process + "/exe", error);
}

// Returns whether the process has installed a handler for the signal.
bool catches(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:")) return std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1;
  return false;
}

}  // namespace

int signal_same_program(pid_t ancestor, int signal, bool only_if_caught) {
  const std::multimap<pid_t, pid_t> children = children_by_parent();
  const fs::path own = program_of("self");
  int count = 0;
  for (std::vector<pid_t> parents = {ancestor}; !parents.empty();) {
    const auto [begin, end] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = begin; child != end; ++child)
      if (program_of(std::to_string(child->second)) != own)
        parents.push_back(child->second);
      else if (!only_if_caught || catches(child->second, signal))
        count += kill(child->second, signal) == 0;
  }
  return count;
}

namespace {

constexpr size_t kKept = 1 << 20;  // bytes of output to keep: enough for the node names of a large job
constexpr int kTick = 20;          // milliseconds between checks for a signal to send

// If the pipe cannot be created, both ends are negative and errno holds the reason.
struct Pipe {
  Descriptor read_end, write_end;
  Pipe() {
    if (int ends[2]; pipe2(ends, O_CLOEXEC) == 0) read_end = Descriptor(ends[0]), write_end = Descriptor(ends[1]);
  }
};

bool readable(int file) {
  pollfd waiting{file, POLLIN, 0};
  return poll(&waiting, 1, kTick) > 0;
}

// Runs in an orphaned process, which is not a descendant of ours, and in which every signal is blocked that can be
// blocked. Starts the command, sends it the signals that are read from the pipe `signals`, and writes the exit code to
// the pipe `outcome`.
[[noreturn]] void guard(const std::vector<std::string>& command, const ChildSettings& settings, int signals,
                        int outcome) {
  const pid_t pid = spawn(command, settings);
  for (int status = 0;;) {
    if (pid < 0 || waitpid(pid, &status, WNOHANG) == pid) {
      const int code = pid < 0 ? kNotFound : shell_code(status);
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
  if (signals.read_end < 0 || outcome.read_end < 0)
    throw Error(std::string("cannot create a pipe (") + reason_of(errno) + "): use --ranks 1");
  std::optional<BlockedSignals> blocked(std::in_place);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signals.write_end.close();
    outcome.read_end.close();
    try {
      guard(command, settings, signals.read_end, outcome.write_end);
    } catch (...) {  // this copy of the process must end here
      _exit(kNotFound);
    }
  }
  const int error = errno;
  if (pid > 0) waitpid(pid, nullptr, 0);
  blocked.reset();
  if (pid < 0) throw Error("cannot start " + command.front() + " (fork: " + reason_of(error) + "): use --ranks 1");
  signals.read_end.close();
  outcome.write_end.close();

  for (int sent = 0; !readable(outcome.read_end);)
    if (const int signal = pending_signal(); signal != sent) {
      sent = signal;
      if (write(signals.write_end, &signal, sizeof(signal)) < 0) break;
    }
  int code = 0;
  if (read(outcome.read_end, &code, sizeof(code)) != sizeof(code))
    throw Error("lost track of " + command.front() +
                " (the process that watches it was killed, perhaps for lack of memory or process slots): continue from "
                "the last checkpoint with --load_run");
  return code;
}

int run_in_copy(const std::function<int()>& work) {
  const pid_t parent = getpid(), copy = fork();
  if (copy < 0) return kNotFound;
  if (copy == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(getppid() == parent ? work() : kNotFound);
  }
  int status = 0;
  while (waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  return shell_code(status);
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

// --- Commands that run beside the training ---

namespace {

// Recognises variables by which users select the jobs that squeue lists, or another cluster.
bool hides_jobs(const std::string& variable) {
  return variable.starts_with("SQUEUE_") || variable.starts_with("SLURM_CLUSTERS=");
}

}  // namespace

BackgroundCommand::BackgroundCommand(const std::vector<std::string>& command, const std::string& log) {
  Pipe pipe;
  if (!log.empty())
    pipe.write_end = Descriptor(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  ChildSettings settings{
      .environment = without_launchers(environment_list()), .own_group = true, .output = pipe.write_end};
  if (log.empty()) std::erase_if(settings.environment, hides_jobs);
  settings.ends_with_us = false;
  if (pipe.write_end >= 0) pid_ = spawn(command, settings);
  if (pid_ < 0) {
    output_ = command.front() + ": " + reason_of(errno);
    exit_code_ = kNotFound;
  }
  pipe_ = std::move(pipe.read_end);
  fcntl(pipe_, F_SETFL, O_NONBLOCK);  // our end only: few programs handle a non-blocking stdout
}

BackgroundCommand::~BackgroundCommand() {
  if (!exit_code_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

std::optional<int> BackgroundCommand::exit_code() {
  if (exit_code_) return exit_code_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  read_output();
  if (ended == 0) return std::nullopt;
  exit_code_ = ended < 0 ? kNotFound : shell_code(status);
  return exit_code_;
}

std::optional<int> BackgroundCommand::wait(double seconds) {
  for (const auto start = Clock::now(); !exit_code() && seconds_since(start) < seconds;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return exit_code();
}

std::string BackgroundCommand::last_line() const {
  const std::string_view text = trim(output_);
  return printable(text.substr(text.find_last_of('\n') + 1));
}

// Reads everything that is in the pipe now, so that a program with much output does not block.
void BackgroundCommand::read_output() {
  char text[1024];
  for (ssize_t n; pipe_ >= 0 && (n = read(pipe_, text, sizeof(text))) > 0;)
    output_.append(text, std::min(static_cast<size_t>(n), kKept - output_.size()));
}

}  // namespace drl
