// The command line of the harness's programs: kills, fuzz and soak.
#pragma once

#include <cstdio>
#include <exception>

#include "base/check.hpp"
#include "base/options.hpp"

namespace drl::faults {

// Reads the options and calls `run`, which returns the number of faults that it found. Exit codes: 0 no fault, 1
// faults, 2 wrong usage.
template <class Options>
int program(int argc, char** argv, const char* usage, int (*run)(const Options&)) {
  Options options;
  OptionTable table;
  try {
    table.section("", "Options", options);
    table.apply_command_line({argv + 1, argv + argc});
    if (options.help) return std::printf("%s\n%s", usage, table.help().c_str()), kDone;
    return run(options) > 0 ? kFailure : kDone;
  } catch (const Error& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), error.exit_code();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), kFailure;
  }
}

}  // namespace drl::faults
