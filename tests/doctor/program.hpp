// drl_doctor from outside.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "../support/process.hpp"

namespace drl::test {

inline const std::string kDoctor = DRL_BIN "/drl_doctor";

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The line of a check, with its remedy: "failed   MPI start  ...", "" if there is none.
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

}  // namespace drl::test
