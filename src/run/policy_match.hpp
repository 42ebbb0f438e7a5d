// Compares a policy with the task that uses it. Equal sizes are not enough: HalfCheetah-v5 and Walker2d-v5 have 17
// observations and 6 actions each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drl/task/spec.hpp"
#include "policy/spec.hpp"
#include "run/train_options.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// Returns how the observations and actions in training differ in name, order, unit or scale from those of `here`:
// "observation 0 is x in m in training and v here", three of each at most; "" if they agree. A name that drl has made
// up for a task without names ("obs[0]") is equal to all names, and an empty list to all lists. Pure.
std::string policy_differences(std::span<const NamedNumber> observations, std::span<const NamedNumber> actions,
                               const PolicySpec& here);

// Throws UsageError, which lists such differences, unless the observations and actions that the checkpoint records are
// those of `policy`. Checkpoints of drl versions that did not record them pass.
void require_policy_of_task(const Checkpoint& checkpoint, const std::string& file, const PolicySpec& policy);

// Returns "FILE, iteration 100 of Cartpole", for people. `name` is that of the file or the run.
std::string described_policy(const Checkpoint& checkpoint, const std::string& name);

// Warns of options of the task itself (its Params) that had other values when the checkpoint's policy was trained. They
// may decide what an observation means. `table` has the options of now; a checkpoint of another task is not compared.
void warn_of_task_options(const Checkpoint& checkpoint, const std::string& file, const OptionTable& table,
                          const TrainOptions& now, const TaskParams& params);

}  // namespace drl
