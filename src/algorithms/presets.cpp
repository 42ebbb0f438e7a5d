#include "algorithms/presets.hpp"

#include "envs/make_env.hpp"

namespace drl {
namespace {

// The options in which an algorithm deviates from a task's own preset.
struct Deviation {
  std::string_view task, algorithm, text;  // task "": all tasks
};

constexpr Deviation kDeviations[] = {{"CartPole-v1", "grpo", R"(
num_envs = 64
max_iterations = 60
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 60
num_learning_epochs = 4
num_mini_batches = 4
group_size = 16
entropy_coef = 0
max_grad_norm = 0.5
)"},
                                     {"Acrobot-v1", "grpo", R"(
num_envs = 64
max_iterations = 100
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 100
num_learning_epochs = 4
num_mini_batches = 4
group_size = 16
entropy_coef = 0.001
max_grad_norm = 0.5
)"},
                                     {"Pendulum-v1", "grpo", R"(
num_envs = 128
max_iterations = 80
[grpo]
learning_rate = 2e-3
schedule = linear
schedule_iterations = 80
num_learning_epochs = 5
num_mini_batches = 8
group_size = 32
entropy_coef = 0.005
max_grad_norm = 0.5
)"},
                                     {"PushCube", "grpo", R"(
num_envs = 512
max_iterations = 200
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 200
num_learning_epochs = 4
num_mini_batches = 16
group_size = 16
entropy_coef = 0
max_grad_norm = 0.5
obs_normalization = true
)"},
                                     // The student's noise only spreads the states that it learns from.
                                     {"", "distill", R"(
num_steps_per_env = 30
[policy]
init_std = 0.1
[distill]
obs_normalization = true
)"}};

}  // namespace

std::vector<Preset> presets(const std::string& task, std::string_view algorithm) {
  std::vector<Preset> all = {{"preset of " + task, task_preset(task)}};
  for (const Deviation& deviation : kDeviations)
    if ((deviation.task.empty() || deviation.task == task) && deviation.algorithm == algorithm)
      all.push_back({std::string(algorithm) + "'s preset of " + task, deviation.text});
  return all;
}

}  // namespace drl
