// Replays recorded observations through exported files and compares the actions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "export/exported_policy.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// Returns an action. Replaces the state of a recurrent policy, which is empty for others.
using PolicyFunction = std::function<std::vector<double>(std::span<const double> observation, std::span<double> state)>;

// Compiles a header of c_header with the machine's cc ($CC) and loads it. Throws Error with the compiler's words.
// The function throws UsageError if the header is for another number of observations.
PolicyFunction compile_header(const std::string& header);

struct ReplayResult {
  int64_t steps = 0, episodes = 0;
  double worst = 0;   // the largest difference of an action, relative to actions above 1
  std::string where;  // of that action: "action[2] of step 17 of episode 3"
};

// Calls `exported` for each observation of a recording of drl_eval, and compares its actions with the recorded ones.
// Each episode begins with a state of zeros.
// Throws UsageError if the recording is of another task, or has another number of observations or actions.
ReplayResult replay(const ExportedPolicy& policy, const PolicyFunction& exported, const Checkpoint& recording,
                    const std::string& file);

}  // namespace drl
