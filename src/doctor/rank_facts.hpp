// What the doctor knows of each rank, and the table that shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/launch_info.hpp"
#include "cluster/placement.hpp"

namespace drl {

// Texts are empty where there is nothing to say.
struct RankFacts {
  int rank = 0, local_rank = 0;
  std::string host;
  std::string device = "cpu";                      // or "cuda:2"
  std::string gpu, uuid, pci, driver, cuda, nccl;  // of that device, and of the libraries that drive it
  std::string cpu_model;
  int cores = 1;     // physical ones that the rank may use
  std::string cpus;  // their hardware threads, "0-3,64-67"
  std::string blas;
  bool reference_blas = false;
  std::string mpi, thread_level;
  std::string build;  // program_build()
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, local_rank, host, device, gpu, uuid, pci, driver, cuda, nccl,
                                   cpu_model, cores, cpus, blas, reference_blas, mpi, thread_level, build)

// This rank's, and on rank 0 those of all.
struct Ranks {
  RankFacts mine;
  std::vector<RankFacts> all;
};

// Of this process; what concerns a GPU is gpu_checks.hpp's.
RankFacts facts_of_this_rank(const LaunchInfo& launch, const Placement& placement);

// First what all ranks have alike, a line each; then a row for each rank, or for neighbours that differ in nothing but
// their numbers and cores. Pure.
std::string table_of(const std::vector<RankFacts>& ranks);

// The hosts in the order of their first ranks, and those ranks.
struct HostRanks {
  std::string name;
  std::vector<int> ranks;
};
std::vector<HostRanks> hosts_of(const std::vector<std::string>& hosts_of_ranks);

}  // namespace drl
