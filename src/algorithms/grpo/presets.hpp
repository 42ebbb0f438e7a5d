// Options in which GRPO deviates from the tasks' own presets.
#pragma once

#include "algorithms/algorithm.hpp"

namespace drl {

inline constexpr PresetDeviation kGrpoPresets[] = {{"CartPole-v1", R"(
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
                                                   {"Acrobot-v1", R"(
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
                                                   {"Pendulum-v1", R"(
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
                                                   {"PushCube", R"(
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
)"}};

}  // namespace drl
