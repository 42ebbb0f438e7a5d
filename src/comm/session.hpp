// Starts MPI if a launcher started this process, runs the program, and ends all ranks with the same exit code.
#pragma once

#include <functional>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/environment.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// An environment variable to set, or to unset if the value is nullptr.
struct Setting {
  const char *name, *value;
};

// Returns the variables to change before MPI starts, because drl's MPI transfers host data only. Cray MPICH ends any
// program that enables GPU support, or inherits it from the site's defaults, without linking the GPU transport layer
// (GTL). Open MPI's support is switched off unless the user has set it. `mpich` is true for the MPICH family. Pure.
std::vector<Setting> host_data_only(const Environment& environment, bool mpich);

// Returns false if it is known that the launcher provides no way by which MPI could find the other ranks.
bool speaks_to_mpi(const LaunchInfo& launch);

// Runs `body(comm)` and returns the exit code for main. MPI is initialised only if a launcher started this process.
// Errors that all ranks share (ReportedError, SharedError) end each rank with their exit code. Any other error is
// printed with rank and host and ends all ranks with MPI_Abort.
int run_session(const LaunchInfo& launch, const std::function<int(Communicator&)>& body);

}  // namespace drl
