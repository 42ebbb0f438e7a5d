// Runs programs as child processes: starts and signals them, waits for them, and reads their output.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mentions.hpp"
#include "paths.hpp"
#include "temp_folder.hpp"

namespace drl {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Returns the words of a command line, which are separated by spaces: "--task Cartpole --seed 3"_words.
inline Words operator""_words(const char* line, size_t size) {
  std::istringstream stream(std::string(line, size));
  return {std::istream_iterator<std::string>(stream), {}};
}

// Waits until the condition is true, checking every 10 ms. Returns false if it is still false after `seconds`.
inline bool wait_until(const std::function<bool()>& condition, double seconds = 60) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

struct Result {
  int exit_code = 0;     // as in a shell: 128 + n after signal n
  std::string out, err;  // standard output and error
};

inline size_t count_lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
// Returns how often `part` occurs in the text.
inline int count_of(const std::string& text, std::string_view part) {
  int times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

// Writes a program that executes `script`.
inline void write_program(const std::filesystem::path& path, const std::string& script) {
  spill(path, "#!/bin/bash\n" + script + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// Returns the text without the lines of mpirun itself: its libevent warns if a rank ends while mpirun writes to it
// (https://github.com/open-mpi/ompi/issues/2004).
inline std::string without_warnings_of_mpirun(std::string text) {
  for (size_t at; (at = ("\n" + text).find("\n[warn] Epoll ")) != std::string::npos;)
    text.erase(at, std::min(text.find('\n', at), text.size() - 1) - at + 1);
  return text;
}

// A program in a separate process group. The destructor kills it if it is still running.
class Process {
 public:
  using Variables = std::map<std::string, std::string>;  // added to the environment
  // `prepare` runs in the child just before the program takes its place.
  explicit Process(const Words& words, const Variables& variables = {}, const std::function<void()>& prepare = {}) {
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) execute(words, variables, prepare);
    ::setpgid(pid_, pid_);  // also done in the child, since either may run first
  }
  ~Process() {
    if (running()) ::kill(-pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  bool running() {
    if (ended_) return false;
    ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return !ended_;
  }
  std::string out() const { return slurp(folder_ / "out"); }
  std::string err() const { return slurp(folder_ / "err"); }

  // Throws if the program does not end within `seconds`.
  Result wait(double seconds = 60) {
    if (!wait_until([this] { return !running(); }, seconds))
      throw std::runtime_error("the program did not end; its output: " + out() + err());
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), out(),
            without_warnings_of_mpirun(err())};
  }

 private:
  [[noreturn]] void execute(const Words& words, const Variables& variables,
                            const std::function<void()>& prepare) const {
    ::setpgid(0, 0);
    const auto redirect = [](const std::string& path, int flags, int to) {
      ::dup2(::open(path.c_str(), flags, 0644), to);
    };
    redirect("/dev/null", O_RDONLY, 0);
    redirect((folder_ / "out").string(), O_WRONLY | O_CREAT, 1);
    redirect((folder_ / "err").string(), O_WRONLY | O_CREAT, 2);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::signal(number, SIG_DFL);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    if (prepare) prepare();
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }

  TempFolder folder_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

inline Result run_program(const Words& words, const Process::Variables& variables = {},
                          const std::function<void()>& prepare = {}) {
  return Process(words, variables, prepare).wait();
}

// Expects that a program has ended with this exit code, and that its standard error mentions all `parts`. Returns the
// result.
inline Result expect_exit(Result result, int exit_code, std::initializer_list<std::string_view> parts = {},
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (result.exit_code != exit_code)
    ADD_FAILURE_AT(file, line) << "exit code " << result.exit_code << " instead of " << exit_code << "; the output:\n"
                               << result.out << result.err;
  expect_mentions(result.err, parts, file, line);
  return result;
}

// Expects that a program has printed nothing but one line, which begins with "error: " and mentions all `parts`, and
// has ended with this exit code. Returns the result.
inline Result expect_error(Result result, std::initializer_list<std::string_view> parts, int exit_code = 2,
                           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result.err.starts_with("error: ") || count_lines(result.err) != 1 || !result.out.empty())
    ADD_FAILURE_AT(file, line) << "not one line \"error: ...\", but:\n" << result.out << result.err;
  return expect_exit(std::move(result), exit_code, parts, file, line);
}

}  // namespace drl
