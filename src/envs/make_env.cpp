#include "envs/make_env.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/other_names.hpp"
#include "envs/simulator_envs.hpp"
#include "envs/task_libraries.hpp"
#include "envs/task_params.hpp"
#include "tasks/table.hpp"

namespace drl {
namespace {

struct Entry {
  const TaskRecord* record;
  std::string origin;
};

std::vector<Entry> entries_of(const TaskLibrary& library, const std::string& origin) {
  std::vector<Entry> entries;
  for (int k = 0; k < library.count; ++k) entries.push_back({library.tasks[k], origin});
  return entries;
}

std::vector<Entry>& table() {
  static std::vector<Entry> all = entries_of(builtin_tasks(), "");
  return all;
}

const Entry* find(std::string_view name) {
  const auto found = std::ranges::find_if(table(), [&](const Entry& entry) { return entry.record->name == name; });
  return found == table().end() ? nullptr : &*found;
}

// Returns the words of a task's name in lower case, without version and the names of simulators and manufacturers.
std::set<std::string> words_of(const std::string& task) {
  std::set<std::string> words;
  for (std::string word : split(task, '-')) {
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool is_version = word.size() > 1 && word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1]));
    if (!is_version && !contains({"isaac", "mjlab", "unitree", "direct", "play"}, word)) words.insert(word);
  }
  return words;
}

// Returns our task that a name of Isaac Lab or mjlab, such as Isaac-Cartpole-v0, stands for; "" if there is none.
std::string task_of_others(const std::string& name, const std::vector<std::string>& tasks) {
  if (!name.starts_with("Isaac-") && !name.starts_with("Mjlab-") && !name.starts_with("Unitree-")) return "";
  const std::set<std::string> wanted = words_of(name);
  std::string best;
  size_t most = 0;
  for (const std::string& task : tasks) {
    const std::set<std::string> words = words_of(task);
    if (words.size() > most && std::ranges::includes(wanted, words)) best = task, most = words.size();
  }
  return best;
}

const Entry& entry_of(std::string_view task) {
  if (const Entry* entry = find(task)) return *entry;
  load_installed_task_libraries();
  if (const Entry* entry = find(task)) return *entry;
  if (const OtherName* other = other_name(task); other && find(other->ours)) {
    const std::string ours(other->ours);
    throw UsageError(printable(task) + " is not a task of drl (the nearest is " + ours + ": " +
                     std::string(other->difference) + "): give --task " + ours);
  }
  const std::string other = task_of_others(std::string(task), task_names());
  const std::string near = other.empty() ? nearest(task, task_names()) : other;
  throw UsageError("unknown task '" + printable(task) + "' (" +
                   (near.empty() ? "no loaded library has it" : "did you mean " + near + "?") +
                   "): give --task_library FILE for a task of your own, or one of " + join(task_names(), ", "));
}

void prepare_lanes(const RobotRecord& robot, const std::vector<std::byte>& params) {
  if (!robot.prepare) return;
  char error[1024] = "";
  const int32_t code = robot.prepare(params.data(), error, sizeof(error));
  if (code == 2) throw UsageError(printable(error, sizeof(error)));
  if (code != 0) throw Error(error);
}

std::string named(const std::string& origin) { return origin.empty() ? "drl itself" : origin; }

}  // namespace

void register_tasks(const TaskLibrary& library, const std::string& origin) {
  const size_t before = table().size();
  try {
    for (const Entry& entry : entries_of(library, origin)) {
      const std::string name = entry.record->name;
      if (const char* trouble = entry.record->trouble)
        throw UsageError("task " + name + " of " + named(origin) + " cannot be used (" + trouble +
                         "): see drl/task.hpp");
      if (const Entry* other = find(name))
        throw UsageError("two tasks are called " + name + " (one from " + named(other->origin) + ", one from " +
                         named(origin) + "): rename one");
      table().push_back(entry);
    }
  } catch (...) {
    table().resize(before);
    throw;
  }
}

std::string own_task_name(const std::string& name) {
  const OtherName* other = find(name) ? nullptr : other_name(name);
  return other && other->difference.empty() ? std::string(other->ours) : name;
}

std::vector<std::string> task_names() {
  load_installed_task_libraries();
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.emplace_back(entry.record->name);
  return names;
}

const TaskRecord& task_record(std::string_view task) { return *entry_of(task).record; }

std::string task_origin(std::string_view task) { return entry_of(task).origin; }

bool is_robot_on_cores(const EnvSetup& setup) {
  if (!setup.robot) return false;
  return setup.record->simulator || !*setup.record->gpu || setup.robot->on_cores || setup.network_in_lanes();
}

std::unique_ptr<VecEnv> make_env(std::string_view task, EnvConfig config, Queue& queue) {
  const TaskRecord& named = task_record(task);
  if (!config.setup.record) config.setup = TaskParams(named).setup();
  const TaskRecord& record = *config.setup.record;
  if (named.robot && (&record == named.robot->in_lanes || &record == named.robot->randomised))
    prepare_lanes(*named.robot, config.setup.params);
  std::unique_ptr<VecEnv> envs;
  if (record.simulator || (named.robot && (!queue.on_gpu() || is_robot_on_cores(config.setup))))
    envs = std::make_unique<SimulatorEnvs>(record, config, queue);
  else
    envs = std::make_unique<TaskEnvs>(record, config, queue);
  const auto wrap = [&](const auto& plan) {
    if (plan.any()) envs = plan.wrap(std::move(envs), config, queue);
  };
  std::apply([&](const auto&... plan) { (wrap(plan), ...); }, config.setup.wrappers);
  return envs;
}

TaskSpec task_spec(std::string_view task, const EnvSetup& setup) {
  TaskSpec spec = spec_of(setup.record ? *setup.record : task_record(task), setup);
  std::apply([&](const auto&... plan) { ((spec = plan.spec(std::move(spec))), ...); }, setup.wrappers);
  return spec;
}

std::string_view task_preset(std::string_view task) { return task_record(task).preset; }

}  // namespace drl
