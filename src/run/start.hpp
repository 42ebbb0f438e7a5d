// The start and the end that drl_train and drl_doctor have in common: both run on one rank or many.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/launch_info.hpp"
#include "placement/relaunch.hpp"

namespace drl {

// Calls `body` and returns the exit code for main. An Error of `body` is one that all ranks have, because they are not
// connected yet: rank 0 reports it.
int run_launched(const std::function<int(const LaunchInfo&)>& body);

// Connects the ranks, calls `body` and returns the exit code for main.
int run_connected(const LaunchInfo& launch, const std::function<int(Communicator&)>& body);

// Starts `ranks` ranks for --ranks N: on the nodes of the Slurm job by srun, else on this machine by mpirun. Returns
// their exit code.
int start_ranks(int ranks, const std::vector<std::string>& command, const StopRelay& relay);

// Logs a hint if a start without a launcher leaves devices of the job idle.
void hint_at_idle_devices(const LaunchInfo& launch, const std::vector<std::string>& command);

}  // namespace drl
