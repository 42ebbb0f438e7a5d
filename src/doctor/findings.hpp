// From what the ranks measured to what the doctor says of it. Pure functions; rank 0 calls them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/report.hpp"
#include "placement/cuda_support.hpp"

namespace drl {

// What a rank says in the roll call.
struct Presence {
  std::string host;         // "" where that is not known
  int local_size = 0;       // ranks on that host, 0 if that is not known
  std::vector<int> missed;  // ranks that it has not heard from, though it should
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Presence, host, local_size, missed)
// `present` lacks the ranks that have not answered.
Check exchange_finding(int ranks, const std::map<int, Presence>& present, double seconds);

// "no answer from rank 3 on node1 within 60 s".
Check silence(const std::vector<int>& ranks, const std::vector<std::string>& hosts, double seconds);

// MPI_Init did not return. `arrived` are the ranks that are known to be in it.
Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived, double seconds);

// By run/preflight.hpp, and in its words.
Check build_finding(const std::vector<RankFacts>& ranks);
Check hardware_finding(const std::vector<RankFacts>& ranks);
Check library_finding(const std::vector<RankFacts>& ranks);  // BLAS and MPI
// How long the ranks' programs took to load.
Check load_finding(const std::vector<RankFacts>& ranks);

// What one rank met in rank 0's folder.
struct FolderVisit {
  std::string trouble;       // why the file could not be read, or was another; "" if all is well
  bool second_lock = false;  // it could be locked again: only hosts' first ranks try
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FolderVisit, trouble, second_lock)
// `lock_file`: the file system has no locks, and a file stands in.
Check folder_finding(const std::string& folder, const std::vector<FolderVisit>& visits,
                     const std::vector<std::string>& hosts, double free_bytes, bool lock_file = false);

// nullopt: Slurm did not say; infinite: no limit.
Check time_finding(const std::string& job, std::optional<double> seconds_left);

// `job` is in Slurm. By what `scontrol --version` and `scontrol show job` said; "" where they did not answer.
Check slurm_finding(const std::string& job, const std::string& version, const std::string& record);

// Has each rank a GPU of its own, and do they fit together? By the rules of check_identities
// (comm/gpu_identity.hpp), and in its words: before NCCL would say it. `cuda` is rank 0's; `wants_cpu`: the options
// say so. Nothing else about GPUs makes sense unless it is ok.
Check gpus_finding(const std::vector<RankFacts>& ranks, const CudaSupport& cuda, bool wants_cpu);

// `reasons[r]`: why rank r's first kernel gave no right result; empty where it did.
Check kernel_finding(const std::vector<std::string>& reasons, const std::vector<std::string>& hosts);

}  // namespace drl
