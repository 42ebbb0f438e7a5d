// The common part of all programs' main().
#pragma once

#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/failure.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace drl {

// Calls `run` with argv and returns the exit code. Logs every exception as an error.
inline int run_program(int argc, char** argv, int (*run)(const std::vector<std::string>&)) {
  open_standard_streams();
  // A write beyond the limit of a file's size (ulimit -f) then fails with a reason. Unlike SIG_IGN, programs that this
  // one starts do not inherit a handler.
  std::signal(SIGXFSZ, [](int) {});
  try {
    raise_limits();
    std::vector<std::string> words(argv, argv + argc);
    if (words.empty()) words.emplace_back("drl");  // execve allows an empty argv
    return run(words);
  } catch (const Error& error) {
    log::error("{}", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    log::error("{}", message_of(error));
    return kFailure;
  }
}

}  // namespace drl
