// Options in which SAC deviates from the tasks' own presets.
#pragma once

#include "algorithms/algorithm.hpp"

namespace drl {

// The recipe of CleanRL's sac_continuous_action, with one environment per rank, for 1 M steps.
inline constexpr PresetDeviation kSacPresets[] = {{"", R"(
num_envs = 1
num_steps_per_env = 1000
max_iterations = 1000
init_at_random_ep_len = false
save_interval = 100
[policy]
actor_hidden_dims = 256,256
critic_hidden_dims = 256,256
activation = relu
action_limit = 3
layer_norm = false
distribution = squashed_gaussian
state_dependent_std = true
std_type = log
init_std = 1
std_min = 0.0067
std_max = 7.39
init = uniform
)"}};

}  // namespace drl
