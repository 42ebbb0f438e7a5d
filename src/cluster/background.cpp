#include "cluster/background.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/text.hpp"
#include "cluster/child.hpp"

namespace drl {
namespace {

constexpr size_t kKept = 1 << 20;  // bytes: the names of all nodes of a large job

// What posix_spawn is told about the child.
class SpawnPlan {
 public:
  SpawnPlan(int output, const std::string& log) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (log.empty())
      posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    else
      posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
                                       0644);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

BackgroundCommand::BackgroundCommand(const std::vector<std::string>& command, const std::string& log) {
  int ends[2] = {-1, -1};
  if (log.empty() && pipe2(ends, O_CLOEXEC) != 0) {
    output_ = std::strerror(errno);
    exit_code_ = kNotFound;
    return;
  }
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const SpawnPlan plan(ends[1], log);
  const int error = posix_spawnp(&pid_, argv[0], &plan.files, &plan.attributes, argv.data(), environ);
  pipe_ = ends[0];
  if (pipe_ >= 0) fcntl(pipe_, F_SETFL, O_NONBLOCK);  // our end only: few programs expect their output to refuse them
  if (ends[1] >= 0) close(ends[1]);
  if (!error) return;
  pid_ = -1;
  output_ = command.front() + ": " + std::strerror(error);
  exit_code_ = kNotFound;
}

BackgroundCommand::~BackgroundCommand() {
  if (!exit_code_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (pipe_ >= 0) close(pipe_);
}

std::optional<int> BackgroundCommand::exit_code() {
  if (exit_code_) return exit_code_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  read_output();
  if (ended == 0) return std::nullopt;
  exit_code_ = ended < 0 ? kNotFound : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::optional<int> BackgroundCommand::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); !exit_code() && Clock::now() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return exit_code();
}

std::string BackgroundCommand::last_words() const {
  const std::string_view text = trim(output_);
  return printable(text.substr(text.find_last_of('\n') + 1));
}

// All that is in the pipe now, so that a program which says much does not wait for us.
void BackgroundCommand::read_output() {
  char text[1024];
  for (ssize_t n; pipe_ >= 0 && (n = read(pipe_, text, sizeof(text))) > 0;)
    output_.append(text, std::min(static_cast<size_t>(n), kKept - output_.size()));
}

}  // namespace drl
