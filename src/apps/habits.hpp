// Answers to words that users of other trainers type.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace drl {

// Throws UsageError, which says what to type instead, if one of drl_train's arguments is an option of Isaac Lab,
// rsl_rl, mjlab or Stable-Baselines3 that drl_train lacks. full_name_of("gamma") returns "ppo.gamma", or "" for an
// unknown name.
void answer_habits(const std::vector<std::string>& arguments,
                   const std::function<std::string(const std::string&)>& full_name_of);

}  // namespace drl
