// Groups runs that differ only in their seed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/run_record.hpp"

namespace drl {

// Returns whether an option does not affect a run's results (Effect::none among the options that drl_train writes to
// options.ini). A test compares the list with drl_train's options.
bool leaves_results_unchanged(std::string_view option);

struct RunGroup {
  std::string task;
  std::string label;  // the options that distinguish it within its task, "ppo.gamma 0.9"; if there are none, the run's
                      // name or the task
  std::vector<const RunRecord*> runs;

  // Returns the different values of an option in its runs; "not set" for runs without the option.
  std::vector<std::string> values(const std::string& option) const;
};

// Groups runs by task, number of ranks, and all options that affect results except the seed. Groups are in the order of
// their first runs, and groups of the same task are consecutive. `runs` must outlive the groups.
std::vector<RunGroup> group_runs(std::span<const RunRecord> runs);

// Returns the options in which the groups' runs differ, sorted by name. "ranks" is the number of ranks.
std::vector<std::string> differing_options(std::span<const RunGroup> groups);

// Returns the options that have the same value in all these runs.
std::map<std::string, std::string> common_options(std::span<const RunGroup> groups);

}  // namespace drl
