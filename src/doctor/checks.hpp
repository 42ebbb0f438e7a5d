// The doctor's checks. All are collective and consist of one or more rounds (rounds.hpp); rank 0 reports the findings.
#pragma once

#include <filesystem>

#include "doctor/rounds.hpp"
#include "launch/allocation.hpp"

namespace drl {

// Places this rank on its device, cores and threads as drl_train does, and reports warnings and errors of any rank. The
// placement takes effect.
Placement check_placement(MessageRounds& rounds, const LaunchInfo& launch, const PlaceRequest& request);

// Returns the facts of all ranks on rank 0 (elsewhere nothing), prints their table and compares them. `load` is the
// time from the start of this process to main, in seconds.
// `wants_cpu` is true if the options ask for the CPU.
std::vector<RankFacts> check_facts(MessageRounds& rounds, const LaunchInfo& launch, const Placement& placement,
                                   double load, bool wants_cpu);
// Checks the sums, latency and bandwidth of MPI's all-reduces.
void check_all_reduce(MessageRounds& rounds);
// Checks that all nodes share the directory of runs, that its locks work and that it has free space.
void check_run_directory(MessageRounds& rounds, const std::filesystem::path& runs_folder);
// Reports the job's remaining time and whether Slurm can requeue it.
void check_job(MessageRounds& rounds, const std::optional<Allocation>& job);

// GPU checks. Builds without CUDA replace them by no_gpu_checks.cpp.

// Adds the facts of this rank's GPU to `facts`, or why it has none.
void add_gpu_facts(const Placement& placement, RankFacts& facts, bool wants_cpu);
// Checks the GPUs of all ranks, a kernel on each, and NCCL's network and all-reduces. `ranks` is used on rank 0 only.
// Call it last: it throws CheckFailed if a GPU or NCCL fails.
void check_gpus(MessageRounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks, bool wants_cpu);

}  // namespace drl
