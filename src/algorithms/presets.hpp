// The hyperparameters with which a task's run starts, by task and algorithm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drl {

// Options in the syntax of --config files. `source` names them in messages.
struct Preset {
  std::string source;
  std::string_view text;
};

// Returns the presets of a task for an algorithm, in the order in which they apply: that of the task itself, which is
// made for PPO, and the options in which another algorithm deviates from it.
std::vector<Preset> presets(const std::string& task, std::string_view algorithm);

}  // namespace drl
