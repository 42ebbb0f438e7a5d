// The checks that need no GPU. Each is one round (rounds.hpp), which all ranks begin together; the report is rank 0's.
#pragma once

#include <filesystem>
#include <vector>

#include "cluster/allocation.hpp"
#include "doctor/rounds.hpp"

namespace drl {

// What drl_train's own placement says: devices, cores, threads. It is settled then, as in a training run.
struct PlacementWish {
  std::string device = "auto", gpu_ids;
  int threads = 0;  // 0: as the allocation says
};
Placement check_placement(Rounds& rounds, const LaunchInfo& launch, const PlacementWish& wish);

// Rank 0 prints the table.
Ranks meet(Rounds& rounds, const LaunchInfo& launch, const Placement& placement);

// Rank 0's alone: it knows all facts. Others pass by.
void check_facts(Rounds& rounds, const std::vector<RankFacts>& ranks);
void check_clocks(Rounds& rounds);
void check_all_reduce(Rounds& rounds);
void check_speed(Rounds& rounds);
void check_folder(Rounds& rounds, const std::filesystem::path& runs_folder);
void check_time_left(Rounds& rounds, const std::optional<Allocation>& job);

}  // namespace drl
