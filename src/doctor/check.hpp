// What a check found.
#pragma once

#include <string>
#include <vector>

namespace drl {

enum class Status { ok, skipped, warning, failed };

struct Check {
  std::string name;  // "MPI exchange"
  Status status = Status::ok;
  std::string finding;
  std::string remedy = "";  // what to do about a warning or a failure
  double seconds = 0;       // that the check took
};

const char* name_of(Status status);

// Whole lines: "warning  clocks             node2's is 2.1 s ahead of node1's", and one with the remedy, if there is
// one.
std::string lines_of(const Check& check);

// "9 checks: 7 ok, 1 skipped, 1 warning" and a line end.
std::string summary_of(const std::vector<Check>& checks);

bool any_failed(const std::vector<Check>& checks);

// The check that an error or warning of drl's form, "<problem> (<why>): <what to do>", stands for.
Check check_of_message(const std::string& name, Status status, const std::string& message);

}  // namespace drl
