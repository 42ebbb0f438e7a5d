// What all programs' main() have in common.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"

namespace drl {

// Runs `run` with the program's words, of which the first is its name, and returns the exit code. No exception leaves.
inline int run_program(int argc, char** argv, int (*run)(const std::vector<std::string>&)) {
  try {
    std::vector<std::string> words(argv, argv + argc);
    if (words.empty()) words.emplace_back("drl");  // execve allows it
    return run(words);
  } catch (const Error& error) {
    log::error("{}", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    return kFailure;
  }
}

}  // namespace drl
