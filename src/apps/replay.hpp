// Steps the state of a lost environment again (drl_eval --replay_dump).
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"

namespace drl {

// Prints every number of state number `index` in `file`, and of one step from it. The task and its options come from
// the file; `task_options` are values of --env. options that replace them. Throws UsageError if the file or the index
// is wrong, or if the file does not fit the task.
void replay_dump(const std::string& file, int64_t index, const std::vector<NamedValue>& task_options);

}  // namespace drl
