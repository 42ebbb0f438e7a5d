// Answers to words that users of other trainers type.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

// Throws UsageError, which says what to type instead, if one of drl_train's arguments is an option of Isaac Lab,
// rsl_rl, mjlab or Stable-Baselines3 that drl_train lacks. full_name_of("gamma") returns "ppo.gamma", or "" for an
// unknown name. steps_of_iteration() returns how many environment steps of all ranks an iteration has with the other
// arguments, or 0 if they are wrong.
void answer_habits(const std::vector<std::string>& arguments,
                   const std::function<std::string(const std::string&)>& full_name_of,
                   const std::function<int64_t()>& steps_of_iteration);

// Does the same for --env.NAME. `known` are all options, including those of the task.
void answer_task_habits(const std::vector<NamedValue>& given, const std::vector<Option>& known);

}  // namespace drl
