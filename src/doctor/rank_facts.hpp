// What the doctor knows of each rank, and the table that shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/gpu_identity.hpp"
#include "launch/launch_info.hpp"
#include "placement/placement.hpp"

namespace drl {

// Texts are empty where there is nothing to say.
struct RankFacts : GpuIdentity {
  int rank = 0, local_rank = 0;
  std::string device = "cpu";  // or "cuda:2"
  std::string cuda;            // of the runtime
  std::string cpu_model;
  int cores = 1;              // physical ones that the rank may use
  std::string cpus;           // their hardware threads, "0-3,64-67"
  std::string blas;           // of libtorch; "" without it
  std::string torch_trouble;  // why libtorch cannot be used, if this drl was built with it
  bool reference_blas = false;
  std::string mpi, thread_level, gtl;
  std::string launcher;  // and the variables that it was known by
  double load = -1;      // s from the start of the process to main; negative if that is not known
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, local_rank, host, device, gpu, uuid, pci, driver, cuda, nccl,
                                   cpu_model, cores, cpus, blas, torch_trouble, reference_blas, mpi, thread_level, gtl,
                                   launcher, build, load)

// Of this process; add_gpu_facts (checks.hpp) adds what concerns its GPU.
RankFacts facts_of_this_rank(const LaunchInfo& launch, const Placement& placement, double load);

// One fact of all ranks.
std::vector<std::string> column(const std::vector<RankFacts>& ranks, std::string RankFacts::*value);

// The state of Cray MPICH's GPU transport layer, which drl leaves out: "off (MPICH_GPU_SUPPORT_ENABLED=0)", "" where
// nothing is said of it. Pure.
std::string gtl_text(const Environment& environment);

// First what all ranks have alike, a line each; then a row for each rank, or for neighbours that differ in nothing but
// their numbers and cores. Pure.
std::string table_of(const std::vector<RankFacts>& ranks);

}  // namespace drl
