// The checks' findings and the doctor's report: lines on standard output as the checks end, and a JSON file at the end.
#pragma once

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/rank_facts.hpp"

namespace drl {

enum class Status { ok, skipped, warning, failed };
NLOHMANN_JSON_SERIALIZE_ENUM(Status, {{Status::ok, "ok"},
                                      {Status::skipped, "skipped"},
                                      {Status::warning, "warning"},
                                      {Status::failed, "failed"}})
inline std::string name_of(Status status) { return nlohmann::json(status).get<std::string>(); }

struct Check {
  Status status = Status::ok;
  std::string finding;
  std::string remedy = "";  // what to do, for a warning or a failure
  std::string name = "";    // "MPI exchange"; set, like seconds, by MessageRounds::end()
  double seconds = 0;       // duration of the check
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Check, status, finding, remedy, name, seconds)

// Returns "warning  time left          only 0:03:20 left in job 12\n" and, if there is a remedy, a line with it.
std::string lines_of(const Check& check);

// Returns "9 checks: 7 ok, 1 skipped, 1 warning\n".
std::string summary_of(const std::vector<Check>& checks);

bool any_failed(const std::vector<Check>& checks);

// Splits an error or warning of drl's form, "<problem> (<why>): <what to do>", into finding and remedy.
Check check_of_message(Status status, const std::string& message);

// Collects the checks, prints them and writes the JSON file. Only an active report prints and writes. Thread-safe.
class Report {
 public:
  Report(bool active, std::string json_file) : active_(active), json_file_(std::move(json_file)) {}

  // Makes this report the active one because rank 0 does not respond.
  void activate() { active_ = true; }
  bool is_active() const { return active_; }

  // Throws UsageError if the JSON file cannot be written.
  void require_json_file() const;
  // Prints the table of ranks, and then the checks that were added before: the table comes first in the report.
  void add_ranks(const std::vector<RankFacts>& ranks, const std::string& headline);
  void add(const Check& check);
  // Adds measured numbers to the JSON file.
  void add_figures(const std::string& name, const nlohmann::ordered_json& figures);
  // Prints checks that were held back and the summary, writes the JSON file, and returns the exit code.
  int finish();

 private:
  void release();

  std::mutex mutex_;
  std::string held_;
  std::atomic<bool> active_;
  std::string json_file_;
  std::vector<RankFacts> ranks_;
  std::vector<Check> checks_;
  nlohmann::ordered_json figures_;
};

}  // namespace drl
