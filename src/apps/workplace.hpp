// The place where a run computes: this rank's device and cores, the hosts of all ranks, the Slurm job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/isa.hpp"
#include "launch/allocation.hpp"
#include "launch/launch_info.hpp"
#include "placement/placement.hpp"
#include "placement/topology.hpp"

namespace drl {

struct Workplace {
  LaunchInfo launch;
  Machine machine;
  Placement placement;
  std::string gpu_model;  // "" on the CPU
  Isa isa{};
  int world_size = 1;
  std::vector<std::string> rank_hosts;  // one per rank; empty except on rank 0
  std::optional<Allocation> job;        // the Slurm job

  std::vector<std::string> hosts() const;  // without repetition
};

// Collective. Binds this process to its cores (place_rank). Rank 0 warns if the ranks' hardware differs. `isa` is the
// value of --isa.
Workplace find_workplace(const PlaceRequest& request, const std::string& isa, const LaunchInfo& launch,
                         Communicator& comm);

// Collective. Returns the instruction set for the loops on all ranks: the lowest of those that `wanted` selects on the
// ranks. It must be the same everywhere because results depend on it. Throws ReportedError on all ranks if a rank's CPU
// does not support `wanted`.
Isa common_isa(Communicator& comm, const std::string& wanted);

}  // namespace drl
