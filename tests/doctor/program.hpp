// Helpers for tests of the program drl_doctor.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "../support/mentions.hpp"
#include "../support/process.hpp"

namespace drl::test {

inline const std::string kDoctor = bin("drl_doctor"), kFaultyMpi = built("tests/doctor/libfaulty_mpi.so");

// Returns the line of a check, "failed   MPI start  ...", with its remedy; "" if the report does not contain the check.
inline std::string lines_of_check(const std::string& report, const std::string& name) {
  for (size_t begin = 0, end; begin < report.size(); begin = end + 1) {
    end = report.find('\n', begin);
    if (end == std::string::npos) end = report.size();
    if (end < begin + 9 || report.compare(begin + 9, name.size() + 1, name + " ") != 0) continue;
    if (report.compare(end, 12, "\n         ->") == 0) end = report.find('\n', end + 1);
    return report.substr(begin, end - begin);
  }
  return "";
}

// Expects the check `name` in the report, with this status ("failed", or "" for any) and with `parts` in its lines.
inline void expect_check(const Result& result, const std::string& name, const std::string& status,
                         std::initializer_list<std::string_view> parts, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  const std::string found = lines_of_check(result.out, name);
  if (found.empty() || !found.starts_with(status))
    ADD_FAILURE_AT(file, line) << "the check \"" << name << "\" is not " << status << ": " << found << "\n"
                               << result.out << result.err;
  expect_mentions(found, parts, file, line);
}

}  // namespace drl::test
