// The options of drl_train that ask a question (--help, --version, --list_tasks, --print_config) instead of training.
#pragma once

#include <functional>
#include <vector>

#include "apps/settings.hpp"
#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// Returns whether the command line asks a question. Rank 0 prints the answer.
bool answer_question(const Settings& typed, const LaunchInfo& launch);

// Returns the options among `given` that ask a question.
std::vector<NamedValue> questions_in(const std::vector<NamedValue>& given);

// Calls `compare` with the other ranks after this one has answered --help. If it ended instead, ranks that were told to
// train would wait for it in MPI_Init for ever. Help must work without MPI, so a copy of this process starts MPI, and
// prints nothing if that fails. Returns the exit code.
int compare_after_answer(const LaunchInfo& launch, const std::function<void(Communicator&)>& compare);

}  // namespace drl
