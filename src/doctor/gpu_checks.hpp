// What the doctor asks of GPUs.
#pragma once

#include <vector>

#include "cluster/placement.hpp"
#include "doctor/check.hpp"
#include "doctor/rank_facts.hpp"
#include "doctor/rounds.hpp"

namespace drl {

// Adds to a rank's facts those of its GPU.
void add_gpu_facts(const Placement& placement, RankFacts& facts);

// On all ranks, round after round.
void check_gpus(Rounds& rounds, const std::vector<RankFacts>& ranks);

}  // namespace drl
