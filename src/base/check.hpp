// Errors. Each tells problem, reason and remedy in one line: "<problem> (<why>): <what to do>".
#pragma once

#include <stdexcept>
#include <string>

namespace drl {

// Exit codes of every program (README, "Exit codes").
enum ExitCode : int { kDone = 0, kFailure = 1, kUsage = 2, kContinue = 75, kInterrupted = 130, kTerminated = 143 };

// Something failed that the user's input did not cause. Exit code 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int exit_code = kFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The input (option, file, environment) is wrong. Exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, kUsage) {}
};

// All ranks end with this code, and one of them has already printed why.
class ReportedError : public Error {
 public:
  explicit ReportedError(int exit_code) : Error("already reported", exit_code) {}
};

// Thrown by all ranks alike, because it follows from numbers that all have: rank 0 alone prints it.
class SharedError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& message);

}  // namespace drl

// An invariant of our own code; always on. `message` is evaluated only on failure.
#define DRL_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0) : ::drl::check_failed(#condition, __FILE__, __LINE__, (message)))
