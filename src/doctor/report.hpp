// What the checks found, and how it is said: lines on standard output as they come, and a JSON file at the end.
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
  std::string remedy = "";  // what to do about a warning or a failure
  std::string name = "";    // "MPI exchange"; a round (rounds.hpp) gives it its own, and the time that it took
  double seconds = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Check, status, finding, remedy, name, seconds)

// Whole lines: "warning  time left          only 0:03:20 of job 12", and one with the remedy, if there is one.
std::string lines_of(const Check& check);

// "9 checks: 7 ok, 1 skipped, 1 warning" and a line end.
std::string summary_of(const std::vector<Check>& checks);

bool any_failed(const std::vector<Check>& checks);

// The check that an error or warning of drl's form, "<problem> (<why>): <what to do>", stands for.
Check check_of_message(Status status, const std::string& message);

// JSON as text. What comes from outside, such as paths, need be no UTF-8: the library would throw.
template <class Json>
std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// From any thread. Only the report of the rank that speaks says anything.
class Report {
 public:
  Report(bool speaks, std::string json_file) : speaks_(speaks), json_file_(std::move(json_file)) {}

  // Rank 0 is lost: this rank speaks for it.
  void take_over() { speaks_ = true; }
  bool speaks() const { return speaks_; }

  // Throws UsageError if the JSON file cannot be written.
  void require_json_file() const;
  // The table, which stands above the checks: those that come before it are held back.
  void add_ranks(const std::vector<RankFacts>& ranks, const std::string& headline);
  void add(const Check& check);
  // Besides the checks' words; for the JSON file.
  void add_figures(const std::string& name, const nlohmann::ordered_json& figures);
  // The summary, and the JSON file. Returns the exit code. What is held back comes out now.
  int finish();

 private:
  void release();

  std::mutex mutex_;
  std::string held_;
  std::atomic<bool> speaks_;
  std::string json_file_;
  std::vector<RankFacts> ranks_;
  std::vector<Check> checks_;
  nlohmann::ordered_json figures_;
};

}  // namespace drl
