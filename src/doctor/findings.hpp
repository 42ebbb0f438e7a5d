// Turns what the ranks measured into the doctor's findings. All functions are pure; rank 0 calls them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/report.hpp"

namespace drl {

// The answer of a rank to the roll call.
struct RollCallAnswer {
  std::string host;                // "" if unknown
  int local_size = 0;              // ranks on that host, 0 if unknown
  std::vector<int> missing_peers;  // peers from which no message arrived
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RollCallAnswer, host, local_size, missing_peers)
// Ranks that did not answer are missing in `present`.
Check exchange_finding(int ranks, const std::map<int, RollCallAnswer>& present, double seconds);

// Returns the failure "no answer from rank 3 on node1 within 60 s".
Check no_answer_finding(const std::vector<int>& ranks, const std::vector<std::string>& hosts, double seconds);

// Returns the failure of an MPI_Init that did not return. `arrived` are the ranks that are known to have called it.
Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived, double seconds);

// These compare the ranks as drl_train's preflight does (run/preflight.hpp).
Check build_finding(const std::vector<RankFacts>& ranks);
Check hardware_finding(const std::vector<RankFacts>& ranks);
Check library_finding(const std::vector<RankFacts>& ranks);  // BLAS, MPI and CUDA
// Judges how long the ranks' programs took to load.
Check load_finding(const std::vector<RankFacts>& ranks);

// The result of one rank when it opened the directory that rank 0 had created.
struct DirectoryProbe {
  std::string error;          // why the directory could not be read; "" if it could
  bool locked_twice = false;  // the lock was granted although rank 0 holds it; only a host's first rank tries
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DirectoryProbe, error, locked_twice)
// `lock_file`: the file system has no locks, so drl used a lock file.
Check run_directory_finding(const std::string& folder, const std::vector<DirectoryProbe>& probes,
                            const std::vector<std::string>& hosts, double free_bytes, bool lock_file = false);

// `seconds_left` is nullopt if Slurm did not report it, and infinite if the job has no limit.
Check time_finding(const std::string& job, std::optional<double> seconds_left);

// `version` and `record` are the outputs of `scontrol --version` and `scontrol show job`, "" if they failed. `job` is a
// Slurm job's number.
Check slurm_finding(const std::string& job, const std::string& version, const std::string& record);

// Checks that each rank has its own GPU, that cuBLAS and NCCL can be used, and that drivers and NCCL match, by
// check_identities (comm/gpu_identity.hpp). `wants_cpu` is true if the options ask for the CPU. The other GPU checks
// are meaningful only if this one is ok.
Check gpus_finding(const std::vector<RankFacts>& ranks, bool wants_cpu);
// Returns which ranks' nodes have GPUs that drl cannot use; "" if there are none.
std::string other_gpus_text(const std::vector<RankFacts>& ranks);

// Looks for settings with which NCCL is slow: GPUs that are hidden from the other ranks of a host, one core per rank on
// several hosts, and a CUDA_DEVICE_ORDER with which ranks use other GPUs than those near their cores.
Check gpu_setup_finding(const std::vector<RankFacts>& ranks);

// `reasons[r]` is why rank r's first kernel failed; empty if its results were correct.
Check kernel_finding(const std::vector<std::string>& reasons, const std::vector<std::string>& hosts);

}  // namespace drl
