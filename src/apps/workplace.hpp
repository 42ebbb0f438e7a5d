// Where a run computes: this rank's device and cores, the hosts of all ranks, the Slurm job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/settings.hpp"
#include "comm/communicator.hpp"
#include "device/isa.hpp"
#include "launch/allocation.hpp"
#include "launch/launch_info.hpp"
#include "placement/machine.hpp"
#include "placement/placement.hpp"

namespace drl {

struct Workplace {
  LaunchInfo launch;
  Machine machine;
  Placement placement;
  std::string gpu_model;  // "" on the CPU
  Isa isa{};
  int world_size = 1;
  std::vector<std::string> rank_hosts;  // one a rank, on rank 0
  std::optional<Allocation> job;        // Slurm's

  std::vector<std::string> hosts() const;  // each once
};

// Collective. Binds this process (place_rank), and warns on rank 0 of hardware that differs.
Workplace find_workplace(const Settings& settings, const LaunchInfo& launch, Communicator& comm);

// Collective. The instruction set of the loops is the same on all ranks, lest their numbers differ: the lowest of those
// that `wanted` stands for on each. Throws ReportedError on all ranks if one does not have it.
Isa common_isa(Communicator& comm, const std::string& wanted);

}  // namespace drl
