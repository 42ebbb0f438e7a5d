// A program's life among the other ranks: starts MPI when a launcher started us, and ends all ranks alike.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/environment.hpp"
#include "launch/launch_info.hpp"

namespace drl {

// A variable that is to be set, or with nullptr not to be set.
struct Setting {
  const char *name, *value;
};

// What must change before MPI starts, since MPI carries host data only: Cray MPICH ends a program that asks for more,
// or at a site that does so for all, and does not link its GPU transport layer (GTL). `mpich`: of the MPICH family.
// Pure.
std::vector<Setting> host_data_only(const Environment& environment, bool mpich);

// Runs `body(comm)` and returns the exit code for main. MPI is initialised only if `launch` names a launcher. An error
// that all ranks share (ReportedError) ends each with its code; one that the others do not know of is printed with rank
// and host, and ends them through MPI_Abort.
int run_session(const LaunchInfo& launch, const std::function<int(Communicator&)>& body);

}  // namespace drl
