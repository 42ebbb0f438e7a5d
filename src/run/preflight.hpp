// What drl_train looks at before it trains: cheap, and about what would otherwise cost hours.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace drl {

// "" if all ranks run the same build of the program, else who runs which. Pure.
std::string build_difference(const std::vector<std::string>& builds, const std::vector<std::string>& hosts);
inline constexpr const char* kOneBuild =
    "let all nodes load the same module and find the same installation (PATH), on a shared file system";
// Collective. Throws ReportedError on all ranks, after one message, if they are not all the same build of the program.
void require_same_build(Communicator& comm);

// Collective. The same of the task libraries that they have loaded.
void require_same_tasks(Communicator& comm);
// Collective. The same of what their environments have read (VecEnv::files), as a robot's model.
void require_same_files(Communicator& comm, const std::string& mine);

// "" if all ranks compute on the same models of CPUs and of GPUs ("" where there is none). Pure.
std::string hardware_difference(std::vector<std::string> cpus, std::vector<std::string> gpus,
                                const std::vector<std::string>& hosts);
inline constexpr const char* kOneKind =
    "the numbers depend on it, and the slowest sets the pace; ask for nodes of one kind (sbatch --constraint)";
// What a rank's numbers depend on in their last bits.
struct RankHardware {
  std::string host;
  std::string cpu;  // its model and instruction set: BLAS chooses by the first, our loops by the second
  std::string gpu;  // its model, "" on a CPU
};
// Collective. Rank 0 warns of a difference, and returns the hosts of all ranks; the others return nothing.
std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine);

// Collective. Rank 0 warns if another node does not have the folder `run`, which rank 0 has made.
void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run);

}  // namespace drl
