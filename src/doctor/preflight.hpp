// What drl_train looks at before it trains: cheap, and about what would otherwise cost hours.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"

namespace drl {

// Collective. Throws ReportedError on all ranks, after one message, if they are not all the same build of the program.
void require_same_build(Communicator& comm);

// What a rank's numbers depend on in their last bits.
struct RankHardware {
  std::string host;
  std::string cpu;  // its model, and instruction_set(): BLAS chooses by the first, our loops by the second
  std::string gpu;  // its model, "" on a CPU
};
// "" if all ranks have the same. Pure.
std::string hardware_warning(const std::vector<RankHardware>& ranks);
// Collective. Rank 0 says the warning, and returns the hosts of all ranks; the others return nothing.
std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine);

// Collective. Rank 0 warns if another node does not have the folder `run`, which rank 0 has made.
void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run);

}  // namespace drl
