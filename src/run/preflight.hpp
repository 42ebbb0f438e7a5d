// Cheap checks that drl_train makes before training, for problems that would otherwise cost hours.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "comm/communicator.hpp"

namespace drl {

// Returns "" if all ranks run the same build of the program, else the ranks of each build. Empty builds do not count.
// Pure.
std::string build_difference(const std::vector<std::string>& builds, const std::vector<std::string>& hosts);
inline constexpr const char* kSameBuildAdvice =
    "make all nodes load the same module and find the same installation (PATH), on a shared file system";
// Collective. If ranks run different builds, logs one message and throws ReportedError on all ranks. A rank that does
// not `compare` takes part, and its build is not compared.
void require_same_build(Communicator& comm, bool compare);

// The options that a rank was given (OptionTable::given_options), as a text for the other ranks.
std::string options_text(const std::vector<NamedValue>& given);
// Returns "" if the ranks' texts are equal, else the options in which they differ and the ranks of each value. Pure.
std::string options_difference(const std::vector<std::string>& texts, const std::vector<std::string>& hosts);
// Collective. If ranks were given different options, logs one message and throws ReportedError on all ranks. The ranks
// compare their options with those of rank 0, which only collects the options of all ranks if some differ.
void require_same_options(Communicator& comm, const std::vector<NamedValue>& given);

// Collective. Does the same for texts that describe files. The message begins with `problem`.
void require_same_texts(Communicator& comm, const std::string& problem, const std::string& mine);
// Collective. Does the same for the task libraries that the ranks have loaded.
void require_same_tasks(Communicator& comm);
// Collective. Does the same for the files that their environments have read (VecEnv::files), such as a robot's model.
void require_same_files(Communicator& comm, const std::string& mine);

// Returns "" if all ranks have the same CPU models and GPU models ("" without a GPU), else the differences. Pure.
std::string hardware_difference(std::vector<std::string> cpus, std::vector<std::string> gpus,
                                const std::vector<std::string>& hosts);
inline constexpr const char* kSameHardwareAdvice =
    "results depend on it, and the slowest rank slows down all others; request nodes of one kind (sbatch --constraint)";
// Returns "" if all ranks compute on GPUs or all on CPUs, else the ranks of both kinds. Pure.
std::string device_difference(const std::vector<std::string>& gpus, const std::vector<std::string>& hosts);
// The hardware on which the last bits of a rank's results depend.
struct RankHardware {
  std::string host;
  std::string cpu;  // model and instruction set: BLAS depends on the model, drl's loops on the instruction set
  std::string gpu;  // model, "" on a CPU
};
// Collective. Rank 0 warns about differences and returns the hosts of all ranks; other ranks return an empty list. If
// only some ranks have a GPU, logs an error and throws ReportedError on all ranks.
std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine);

// Collective. Rank 0 warns if other nodes do not see the directory `run`, which rank 0 has created.
void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run);

}  // namespace drl
