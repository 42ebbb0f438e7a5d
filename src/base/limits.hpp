// Limits of the system on a process (ulimit): its stack, its open files, and the threads of its user.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "base/check.hpp"

namespace drl {

// A limit of getrlimit(2), in the unit of ulimit.
struct Limit {
  const char* option;   // of ulimit: "-n"
  std::string allowed;  // what it allows, after "only 16": "files may be open"
  uint64_t hard;        // the soft limit can be raised to this value
  uint64_t least;       // with less, the program may fail
  uint64_t common;      // the value on most systems
};

// Returns the error of a limit that is too low for `program`, or "". Pure.
std::string limit_problem(const Limit& limit, const std::string& program);

// Raises the soft limits of the stack and of open files to those of most systems, as far as the hard limits allow, and
// gives new threads as large a stack. Call it before other threads run.
void raise_limits();

// Raises the soft limits for a program that starts this number of ranks by mpirun (0: none). Returns the error if a
// hard limit is too low, else "".
std::string limits_problem(const std::string& program, int ranks = 0);

// Returns why the system may have refused to start a thread, and what to do.
std::string thread_problem(const std::string& reason);

// Returns the system's text for the error number. If a limit of this process is the cause, adds its value and how to
// raise it: "Too many open files; ulimit -n is 64, and \"ulimit -n 4096\" raises it".
std::string reason_of(int error);

// Calls `start`, which starts a thread. Throws Error if the system refuses to.
template <class Start>
auto starting_thread(const Start& start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    throw Error(thread_problem(error.code().message()));
  }
}

}  // namespace drl
