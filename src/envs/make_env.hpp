// Tasks by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "envs/vec_env.hpp"
#include "drl/task_spec.hpp"

namespace drl {

struct EnvConfig {
  int64_t num_envs = 1;            // on this rank
  int64_t first_global_index = 0;  // of this rank's first environment; the others follow
  uint64_t seed = 0;
  bool random_start_ages = false;  // first episodes begin at a random age, so that time limits do not come in phase
};

// In the order of tasks/list.hpp.
std::vector<std::string> task_names();

// Each throws UsageError, naming the nearest known task, if there is no such task.
std::unique_ptr<VecEnv> make_env(std::string_view task, const EnvConfig& config, Queue& queue);
// For benchmarks: `steps` steps of `env`, which make_env made of `task`, with random actions, in one loop (StepRandomly).
void step_randomly(std::string_view task, VecEnv& env, Queue& queue, int64_t first_step, int64_t steps,
                   float* checksum);
TaskSpec task_spec(std::string_view task);
std::string_view task_preset(std::string_view task);  // in the syntax of --config files

}  // namespace drl
