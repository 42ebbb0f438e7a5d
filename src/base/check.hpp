// Errors. Each message states problem, reason and remedy in one line: "<problem> (<why>): <what to do>".
#pragma once

#include <stdexcept>
#include <string>

namespace drl {

// Exit codes of every program (docs/reference/runs.md, "Exit codes").
enum ExitCode : int { kDone = 0, kFailure = 1, kUsage = 2, kContinue = 75, kInterrupted = 130, kTerminated = 143 };

// A failure that the user's input did not cause. Exit code 1.
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

// Ends all ranks with the same exit code; one of them has already printed the message.
class ReportedError : public Error {
 public:
  explicit ReportedError(int exit_code) : Error("already reported", exit_code) {}
};

// An error that every rank throws, because all ranks detect it in the same data. Only rank 0 prints it.
class SharedError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& message);

}  // namespace drl

// Checks an invariant of drl's own code, in release builds too. `message` is evaluated only on failure.
#define DRL_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0) : ::drl::check_failed(#condition, __FILE__, __LINE__, (message)))
