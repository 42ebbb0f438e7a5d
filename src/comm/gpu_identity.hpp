// The GPU and software of each rank. The ranks compare these before their GPUs communicate.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/vendor.hpp"

namespace drl {

struct GpuIdentity {
  std::string host;
  std::string gpu;     // "NVIDIA H200"
  std::string uuid;    // "GPU-5a3f...", empty if unknown
  std::string pci;     // "0000:3b:00"
  std::string driver;  // "580.65.06, CUDA 13.0"
  std::string nccl;    // "2.28.9"
  std::string build;   // "0.1.0 808f62d6d51d"
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuIdentity, host, gpu, uuid, pci, driver, nccl, build)

// Checks that these ranks, in rank order, can work together. Throws UsageError, with their ranks and hosts, if some of
// them differ in build, NCCL or driver, or share a GPU (unless `may_share`).
void check_identities(const std::vector<GpuIdentity>& ranks, bool may_share);

// Returns the first rank on each GPU, in increasing order.
std::vector<size_t> first_ranks_of_gpus(const std::vector<GpuIdentity>& ranks);

// Returns the version in the text of /proc/driver/nvidia/version, or "" if it contains none.
std::string driver_version(const std::string& proc_text);
std::string nccl_version_text(int code);  // 22809 is "2.28.9"
// Returns the version of CUDA or HIP as text: CUDA's 13000 is "13.0".
std::string runtime_version_text(int code, const GpuVendor& vendor = kGpuVendor);

}  // namespace drl
