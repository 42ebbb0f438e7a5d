// From what the ranks' GPUs showed to what the doctor says of it. Pure functions; rank 0 calls them. Vectors have an
// element for each rank, in rank order.
#pragma once

#include <string>
#include <vector>

#include "cluster/cuda_support.hpp"
#include "doctor/check.hpp"
#include "doctor/nvml.hpp"
#include "doctor/rank_facts.hpp"

namespace drl {

// Which ranks compute on GPUs? `cuda` is rank 0's; `wants_cpu`: the options say so. Nothing else about GPUs makes sense
// unless it is ok.
Check gpu_users_finding(const std::vector<RankFacts>& ranks, const CudaSupport& cuda, bool wants_cpu);

// By the rules of check_identities (cluster/gpu_identity.hpp), and in its words: before NCCL would say it.
Check gpu_sharing_finding(const std::vector<RankFacts>& ranks, bool may_share);
Check gpu_library_finding(const std::vector<RankFacts>& ranks);

// The runtime's reason in a message of gpu::check or gpu::allocate: "cudaErrorX: what it means".
std::string runtime_reason(const std::string& message);
// `reasons` why there is no right result; empty where there is one.
Check runtime_finding(const std::string& check, const std::vector<std::string>& reasons,
                      const std::vector<std::string>& hosts);

Check processes_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts);
Check memory_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts);
Check clocks_finding(const std::vector<GpuHealth>& gpus, const std::vector<std::string>& hosts);

// Of each rank's GPU: UUIDs (or bus places) of the other visible ones, and of those that it does not reach directly.
struct PeerAccess {
  std::vector<std::string> visible, out_of_reach;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeerAccess, visible, out_of_reach)
Check peers_finding(const std::vector<PeerAccess>& access, const std::vector<RankFacts>& ranks);

// Of all-reduces; `right[r]` is what rank r got.
Check sums_finding(const std::string& check, const std::vector<bool>& right, const std::vector<std::string>& hosts);

}  // namespace drl
