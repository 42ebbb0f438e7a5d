#include "envs/make_env.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/task_envs.hpp"
#include "tasks/list.hpp"

namespace drl {
namespace {

std::vector<TaskEntry>& table() {
#define DRL_ENTRY(Task) entry_of<Task>(),
  static std::vector<TaskEntry> all = {DRL_FOR_EACH_TASK(DRL_ENTRY)};
#undef DRL_ENTRY
  return all;
}

const TaskEntry* find(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &TaskEntry::name);
  return found == table().end() ? nullptr : &*found;
}

}  // namespace

void register_task(const TaskEntry& entry) {
  if (find(entry.name))
    throw UsageError("task '" + std::string(entry.name) + "' is there already (two have this name): rename one");
  table().push_back(entry);
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskEntry& entry : table()) names.emplace_back(entry.name);
  return names;
}

const TaskEntry& task_entry(std::string_view task) {
  if (const TaskEntry* entry = find(task)) return *entry;
  const std::string near = nearest(task, task_names());
  const std::string advice = near.empty() ? "--list_tasks shows them" : "did you mean " + near + "?";
  throw UsageError("unknown task '" + printable(task) + "' (the tasks are " + join(task_names(), ", ") +
                   "): " + advice);
}

std::unique_ptr<VecEnv> make_env(std::string_view task, const EnvConfig& config, Queue& queue) {
  return task_entry(task).make(config, queue);
}

TaskSpec task_spec(std::string_view task) { return task_entry(task).spec(); }

std::string_view task_preset(std::string_view task) { return task_entry(task).preset; }

}  // namespace drl
