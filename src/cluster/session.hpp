// A program's life among the other ranks: starts MPI when a launcher started us, and ends all ranks alike.
#pragma once

#include <functional>
#include <memory>

#include "cluster/communicator.hpp"
#include "cluster/launch_info.hpp"

namespace drl {

// Runs `body(comm)` and returns the exit code for main. MPI is initialised only if `launch` names a launcher. An error
// that all ranks share (ReportedError) ends each with its code; one that the others do not know of is printed with rank
// and host, and ends them through MPI_Abort.
int run_session(const LaunchInfo& launch, const std::function<int(Communicator&)>& body);

}  // namespace drl
