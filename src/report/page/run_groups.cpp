#include "report/page/run_groups.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.hpp"

namespace drl {
namespace {

constexpr char kRanks[] = "ranks", kNotSet[] = "not set";

constexpr std::string_view kNotAffectingResults[] = {
    "comm_timeout", "cuda_graphs",    "deterministic", "device",       "eval_interval",
    "gate",         "gate_interval",  "gpu_ids",       "init_timeout", "keep_checkpoints",
    "logger",       "max_iterations", "nan_policy",    "save_replay",  "save_interval",
    "save_seconds", "squeue_comment", "target_reward", "time_margin",  "video_interval"};

using Options = std::map<std::string, std::string>;

Options all_options(const RunRecord& run) {
  Options options = run.options;
  if (run.world_size > 0) options[kRanks] = std::to_string(run.world_size);
  return options;
}

// Returns the options that are equal for all runs of a group and identify the group.
Options key_of(const RunRecord& run) {
  Options key = all_options(run);
  std::erase_if(key,
                [](const auto& option) { return option.first == "seed" || leaves_results_unchanged(option.first); });
  key["task"] = run.task;
  return key;
}

std::string value_in(const RunRecord& run, const std::string& option) {
  const Options options = all_options(run);
  const auto found = options.find(option);
  return found == options.end() ? kNotSet : found->second.empty() ? "\"\"" : found->second;
}

std::set<std::string> names_of(std::span<const RunGroup> groups) {
  std::set<std::string> names;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      for (const auto& [name, value] : all_options(*run)) names.insert(name);
  return names;
}

bool differ(std::span<const RunGroup> groups, const std::string& option) {
  const std::string first = value_in(*groups.front().runs.front(), option);
  return std::ranges::any_of(groups, [&](const RunGroup& group) {
    return std::ranges::any_of(group.runs, [&](const RunRecord* run) { return value_in(*run, option) != first; });
  });
}

void label(std::span<RunGroup> groups) {
  std::vector<std::string> names = differing_options(groups);
  std::erase_if(names, [](const std::string& name) { return name == "seed" || leaves_results_unchanged(name); });
  for (RunGroup& group : groups) {
    std::vector<std::string> parts;
    for (const std::string& name : names) parts.push_back(name + " " + value_in(*group.runs.front(), name));
    group.label = !parts.empty() ? join(parts, ", ") : group.runs.size() == 1 ? group.runs.front()->name : group.task;
  }
}

}  // namespace

bool leaves_results_unchanged(std::string_view option) {
  return std::ranges::find(kNotAffectingResults, option) != std::end(kNotAffectingResults);
}

std::vector<std::string> RunGroup::values(const std::string& option) const {
  std::vector<std::string> all;
  for (const RunRecord* run : runs)
    if (std::string value = value_in(*run, option); !contains(all, value)) all.push_back(std::move(value));
  return all;
}

std::vector<RunGroup> group_runs(std::span<const RunRecord> runs) {
  std::vector<RunGroup> groups;
  std::vector<Options> keys;
  std::vector<std::string> tasks;
  for (const RunRecord& run : runs) {
    const Options key = key_of(run);
    const auto found = static_cast<size_t>(std::ranges::find(keys, key) - keys.begin());
    if (found == keys.size()) {
      keys.push_back(key);
      groups.push_back({run.task, "", {}});
      if (!contains(tasks, run.task)) tasks.push_back(run.task);
    }
    groups[found].runs.push_back(&run);
  }
  std::ranges::stable_sort(groups, {}, [&](const RunGroup& group) { return std::ranges::find(tasks, group.task); });
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(begin, groups.end(), [&](const RunGroup& g) { return g.task != begin->task; });
    label({begin, end});
    begin = end;
  }
  return groups;
}

std::vector<std::string> differing_options(std::span<const RunGroup> groups) {
  std::vector<std::string> names;
  for (const std::string& name : names_of(groups))
    if (differ(groups, name)) names.push_back(name);
  return names;
}

std::map<std::string, std::string> common_options(std::span<const RunGroup> groups) {
  Options common;
  for (const std::string& name : names_of(groups))
    if (!differ(groups, name)) common[name] = value_in(*groups.front().runs.front(), name);
  return common;
}

}  // namespace drl
