// Tasks by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drl/task_spec.hpp"
#include "envs/vec_env.hpp"

namespace drl {

struct EnvConfig {
  int64_t num_envs = 1;            // on this rank
  int64_t first_global_index = 0;  // of this rank's first environment; the others follow
  uint64_t seed = 0;
  bool random_start_ages = false;  // first episodes begin at a random age, so that time limits do not come in phase
};

// A task in the table of those that can be named.
struct TaskEntry {
  std::string_view name, preset;  // in the syntax of --config files; both live as long as the program
  TaskSpec (*spec)();
  std::unique_ptr<VecEnv> (*make)(const EnvConfig& config, Queue& queue);
  // For benchmarks: `steps` steps of an env that `make` made, with random actions, in one loop (StepRandomly).
  void (*step_randomly)(VecEnv& env, Queue& queue, int64_t first_step, int64_t steps, float* checksum);
};

// Adds a task; ours (tasks/list.hpp) are there from the start. Throws UsageError if its name is taken. Before other
// threads look tasks up.
void register_task(const TaskEntry& entry);
// In the order in which they were added.
std::vector<std::string> task_names();

// Each throws UsageError, naming the nearest known task, if there is no such task.
const TaskEntry& task_entry(std::string_view task);
std::unique_ptr<VecEnv> make_env(std::string_view task, const EnvConfig& config, Queue& queue);
TaskSpec task_spec(std::string_view task);
std::string_view task_preset(std::string_view task);

}  // namespace drl
