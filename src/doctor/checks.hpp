// The checks. Each is a round (rounds.hpp) or more, which all ranks begin together; the report is rank 0's.
#pragma once

#include <filesystem>

#include "doctor/rounds.hpp"
#include "launch/allocation.hpp"

namespace drl {

// What drl_train's own placement says: devices, cores, threads. It is settled then, as in a training run. The last
// three are the options'.
Placement check_placement(Rounds& rounds, const LaunchInfo& launch, const std::string& device,
                          const std::string& gpu_ids, int threads);

// What is to be known of the ranks, for rank 0, which prints the table, and then says what it finds in it. `load`: s
// from the start of the process to main.
std::vector<RankFacts> check_facts(Rounds& rounds, const LaunchInfo& launch, const Placement& placement, double load);
void check_all_reduce(Rounds& rounds);
void check_folder(Rounds& rounds, const std::filesystem::path& runs_folder);
void check_job(Rounds& rounds, const std::optional<Allocation>& job);

// Of GPUs; a build without CUDA has none: no_gpu_checks.cpp.

// Adds to a rank's facts those of its GPU, as far as it tells them.
void add_gpu_facts(const Placement& placement, RankFacts& facts);
// Runs a small kernel on a device, and reads back what it computed. Returns why that did not work within `seconds`, in
// the runtime's words; "" if it did. All else of this process is done on that device from now on.
std::string try_kernel(int device, double seconds);
// `ranks` are rank 0's knowledge; `wants_cpu`: the options say so. To be the last of all checks: throws CheckFailed
// when a GPU or NCCL fails.
void check_gpus(Rounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks, bool wants_cpu);

}  // namespace drl
