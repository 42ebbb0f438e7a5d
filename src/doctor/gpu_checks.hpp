// What the doctor asks of GPUs. A build without CUDA has none: no_gpu_checks.cpp.
#pragma once

#include "cluster/placement.hpp"
#include "doctor/rank_facts.hpp"
#include "doctor/rounds.hpp"

namespace drl {

// Adds to a rank's facts those of its GPU, as far as it tells them.
void add_gpu_facts(const Placement& placement, RankFacts& facts);

// On all ranks, round after round. `wants_cpu`: the options say so. To be the last of all checks: throws CheckFailed
// when a GPU or NCCL fails.
void check_gpus(Rounds& rounds, const Placement& placement, const Ranks& ranks, bool wants_cpu);

}  // namespace drl
