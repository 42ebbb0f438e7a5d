// Trained policies that are installed with drl, in share/drl/pretrained. Such a file is a checkpoint without what only
// training needs: `drl_eval --run R --save_pretrained FILE` makes it.
#pragma once

#include <filesystem>
#include <string>

#include "store/checkpoint.hpp"

namespace drl {

// Returns the file of an installed policy. Throws UsageError, which lists the names, if there is none of this name.
std::filesystem::path pretrained_file(const std::string& name);

// Returns pretrained/NAME for the file of an installed policy, and the path of other files.
std::string policy_source(const std::filesystem::path& file);

// Returns what a policy needs to act and to be trained further with --init_from: the actor, the normaliser of its
// observations, the curriculum (which only drl_eval loads), and the attributes for its task, options and origin, which
// have no hosts and no directories. The task must be known. The caller adds the
// description of the policy (describe_policy). `file` is the name of the checkpoint, for messages.
Checkpoint policy_alone(const Checkpoint& checkpoint, const std::string& file);

// Returns whether the checkpoint is one that policy_alone() has returned.
bool is_policy_alone(const Checkpoint& checkpoint);

}  // namespace drl
