// Reads the files from which a run takes its settings.
#pragma once

#include "apps/settings.hpp"
#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"
#include "run/run_directory.hpp"

namespace drl {

// Returns the facts that identify a run of this task.
RunContext run_context(const std::string& task, const LaunchInfo& launch);

// Collective. Rank 0 reads the files, and all ranks receive the texts. With --resume or --load_run, loads the task
// library that the run recorded, unless the user names the task.
RunTexts read_texts(const Settings& typed, const LaunchInfo& launch, Communicator& comm);

}  // namespace drl
