#include "apps/play_options.hpp"

#include <algorithm>
#include <filesystem>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "launch/launch_info.hpp"
#include "run/pretrained.hpp"
#include "run/run_directory.hpp"

namespace drl {

std::string checkpoint_of(const PlayOptions& options) {
  if (options.agent != "policy") {
    if (!options.run.empty() || !options.checkpoint.empty() || !options.pretrained.empty() || options.task.empty())
      throw UsageError("--agent " + options.agent +
                       " plays a task without a policy (--run, --checkpoint and --pretrained name policies): give only "
                       "--task T");
    return "";
  }
  if (!options.pretrained.empty()) {
    if (!options.run.empty() || !options.checkpoint.empty())
      throw UsageError("--pretrained excludes --run and --checkpoint (each names the policy): give only one of them");
    return pretrained_file(options.pretrained).string();
  }
  if (!options.run.empty() && !options.checkpoint.empty())
    throw UsageError("--run and --checkpoint exclude each other (each names the policy): give only --checkpoint " +
                     printable((std::filesystem::path(options.run) / "checkpoints").string()) + "/FILE");
  if (options.run.empty() == options.checkpoint.empty())
    throw UsageError(
        "exactly one of --run, --checkpoint and --pretrained is needed (it names the policy): give for instance --run "
        "runs/Cartpole/latest");
  return find_checkpoint(options.run.empty() ? options.checkpoint : options.run).string();
}

std::pair<std::vector<NamedValue>, std::vector<NamedValue>> parse_play_options(
    OptionTable& table, const std::string& who, const std::vector<std::string>& arguments) {
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  const std::vector<std::string> runs = table.take_arguments(words);
  if (runs.size() > 1)
    throw UsageError(who + " one run (" + printable(runs[0]) + " and " + printable(runs[1]) +
                     " are given): give one of them");
  for (const std::string& run : runs) words.insert(words.end(), {"--run", run});
  std::vector<NamedValue> given = table.parse_command_line(words);
  const auto first_task_option = std::stable_partition(
      given.begin(), given.end(), [](const NamedValue& option) { return !option.name.starts_with("env."); });
  const std::vector<NamedValue> task_options(first_task_option, given.end());
  given.erase(first_task_option, given.end());
  table.apply(given);
  return {given, task_options};
}

bool is_only_rank(const std::string& program) {
  if (const LaunchInfo launch = launch_info(); launch.world_size > 1) {
    if (launch.rank > 0) return false;
    throw UsageError(
        fmt::format("{} was started on {} ranks (it needs only one): start it without {}, or with one task (-n 1)",
                    program, launch.world_size, launch.launcher));
  }
  if (const std::string problem = limits_problem(program); !problem.empty()) throw UsageError(problem);
  return true;
}

}  // namespace drl
