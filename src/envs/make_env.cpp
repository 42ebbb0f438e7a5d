#include "envs/make_env.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/task_envs.hpp"
#include "tasks/list.hpp"

namespace drl {
namespace {

struct Entry {
  std::string_view name, preset;
  TaskSpec (*spec)();
  std::unique_ptr<VecEnv> (*make)(const EnvConfig&, Queue&);
  void (*step_randomly)(VecEnv&, Queue&, int64_t first_step, int64_t steps, float* checksum);
};

template <template <class> class Task>
Entry entry() {
  return {Task<float>::name, Task<float>::preset, make_spec<Task<float>>,
          [](const EnvConfig& config, Queue& queue) -> std::unique_ptr<VecEnv> {
            return std::make_unique<TaskEnvs<Task>>(config, queue);
          },
          [](VecEnv& env, Queue& queue, int64_t first_step, int64_t steps, float* checksum) {
            static_cast<TaskEnvs<Task>&>(env).step_randomly(queue, first_step, steps, checksum);
          }};
}

const std::vector<Entry>& entries() {
  #define DRL_ENTRY(Task) entry<Task>(),
  static const std::vector<Entry> all = {DRL_FOR_EACH_TASK(DRL_ENTRY)};
#undef DRL_ENTRY
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

std::unique_ptr<VecEnv> make_env(std::string_view task, const EnvConfig& config, Queue& queue) {
  return find(task).make(config, queue);
}

void step_randomly(std::string_view task, VecEnv& env, Queue& queue, int64_t first_step, int64_t steps,
                   float* checksum) {
  find(task).step_randomly(env, queue, first_step, steps, checksum);
}

TaskSpec task_spec(std::string_view task) { return find(task).spec(); }

std::string_view task_preset(std::string_view task) { return find(task).preset; }

}  // namespace drl
