// Facts about each rank, and the table that shows them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/gpu_identity.hpp"
#include "launch/launch_info.hpp"
#include "placement/placement.hpp"

namespace drl {

// Facts about one rank. Texts are empty if unknown or not applicable.
struct RankFacts : GpuIdentity {
  int rank = 0, local_rank = 0;
  std::string device = "cpu";  // or "cuda:2"
  int visible_gpus = 0;        // as in Placement
  std::string cuda;            // version of the CUDA runtime
  std::string cpu_model;
  int cores = 1;              // physical cores that the rank may use
  std::string cpus;           // their hardware threads, "0-3,64-67"
  std::string blas;           // of libtorch; "" without it
  std::string torch_trouble;  // why libtorch cannot be used; only in builds with libtorch
  bool reference_blas = false;
  std::string other_gpus;    // vendor of the node's GPUs, which drl cannot use (other_gpu_vendor)
  std::string cuda_trouble;  // why the driver shows no GPU, as in CudaSupport; only of ranks that want one
  std::string cuda_remedy;   // what to do about that
  std::string gpu_trouble;   // why cuBLAS and NCCL cannot be used; only of ranks with a GPU
  std::string device_order;  // CUDA_DEVICE_ORDER; only of ranks with a GPU
  std::string mpi, thread_level, gtl;
  std::string launcher;  // with the variables by which it was recognised
  double load = -1;      // s from the start of the process to main; negative if unknown
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, local_rank, host, device, visible_gpus, gpu, uuid, pci, driver,
                                   cuda, nccl, cpu_model, cores, cpus, blas, torch_trouble, reference_blas, other_gpus,
                                   cuda_trouble, cuda_remedy, gpu_trouble, device_order, mpi, thread_level, gtl,
                                   launcher, build, load)

// Returns the facts of this process. add_gpu_facts() (checks.hpp) adds those of its GPU.
RankFacts facts_of_this_rank(const LaunchInfo& launch, const Placement& placement, double load);

// Returns the state of Cray MPICH's GPU transport layer (GTL), which drl does not use: for example
// "off (MPICH_GPU_SUPPORT_ENABLED=0)"; "" if the variable is not set. Pure.
std::string gtl_text(const Environment& environment);

// Returns a table: first one line for each fact that is the same on all ranks, then one row per rank. Consecutive ranks
// of a host share a row if they differ only in rank and CPUs. Pure.
std::string table_of(const std::vector<RankFacts>& ranks);

}  // namespace drl
