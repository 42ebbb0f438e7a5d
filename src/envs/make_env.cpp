#include "envs/make_env.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/cpu_vec_env.hpp"
#include "tasks/list.hpp"

namespace drl {
namespace {

struct Entry {
  std::string_view name, preset;
  TaskSpec (*spec)();
  std::unique_ptr<VecEnv> (*make)(const EnvConfig&);
};

template <template <class> class Task>
std::unique_ptr<VecEnv> make(const EnvConfig& config) {
  return std::make_unique<CpuVecEnv<Task>>(config);
}

template <template <class> class... Tasks>
std::vector<Entry> entries_of(TaskList<Tasks...>) {
  return {Entry{Tasks<float>::name, Tasks<float>::preset, make_spec<Tasks<float>>, make<Tasks>}...};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = entries_of(AllTasks{});
  return all;
}

[[noreturn]] void unknown_task(std::string_view name) {
  const std::string near = nearest(name, task_names());
  const std::string advice = near.empty() ? "--list_tasks shows them" : "did you mean " + near + "?";
  throw UsageError("unknown task '" + printable(name) + "' (the tasks are " + join(task_names(), ", ") +
                   "): " + advice);
}

const Entry& find(std::string_view name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
  }
  unknown_task(name);
}

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<VecEnv> make_env(std::string_view task, const EnvConfig& config) { return find(task).make(config); }

TaskSpec task_spec(std::string_view task) { return find(task).spec(); }

std::string_view task_preset(std::string_view task) { return find(task).preset; }

}  // namespace drl
