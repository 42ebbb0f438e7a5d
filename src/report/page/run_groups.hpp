// Runs that differ in their seed alone belong together.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/run_record.hpp"

namespace drl {

// Options that change no numbers (Effect::none of what drl_train writes into options.ini): runs that differ in them are
// equal otherwise. A test compares the list with drl_train's options.
bool changes_no_numbers(std::string_view option);

struct RunGroup {
  std::string task;
  std::string label;  // what it has that others of the task have not: "ppo.gamma 0.9"; the run's name if it is alone
  std::vector<const RunRecord*> runs;

  // The value of that option in its runs, each once; "not set" where a run does not name it.
  std::vector<std::string> values(const std::string& option) const;
};

// Groups by task, and by all options that change numbers but the seed, and by the number of ranks, in the order of the
// first run of each; groups of a task follow each other. `runs` must outlive them.
std::vector<RunGroup> group_runs(std::span<const RunRecord> runs);

// The options in which these groups' runs differ, sorted by name; "ranks" stands for the number of ranks.
std::vector<std::string> differing_options(std::span<const RunGroup> groups);

// The options that all of these runs have with the same value.
std::map<std::string, std::string> common_options(std::span<const RunGroup> groups);

}  // namespace drl
