// Chooses the device, cores and number of threads of each rank, once, before drl starts threads.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "launch/environment.hpp"
#include "launch/launch_info.hpp"
#include "placement/topology.hpp"

namespace drl {

struct Placement {
  std::string device = "cpu";  // or "cuda:2"
  int gpu = -1;                // CUDA's index of this rank's GPU; -1 on the CPU
  int threads = 1;
  bool bound = false;  // drl has bound this process to a part of the host's allowed hardware threads
  int cores = 1;       // physical cores that this rank may use, no more than its host's quota
  int ranks_on_host = 1;
  int visible_gpus = 0;  // GPUs that CUDA shows to this rank; 0 on the CPU, and with a part of a GPU (MIG)
  std::string text;      // for the banner: "4 ranks per node, 1 core and 1 thread per rank"
};

// The options that decide where a rank computes.
struct PlaceRequest {
  std::string device = "auto", gpu_ids = "";
  int threads = 0;  // 0: as many as the allocation gives
};

// Collective. Finds the ranks that share a host, assigns devices, binds this process to its part of the cores if Slurm
// left the binding to the program, and warns once, on rank 0, if ranks share cores. Throws ReportedError on all
// ranks if the request is not possible. If the topology cannot be read, nothing is bound; this is not an error.
Placement place_rank(Communicator& comm, const LaunchInfo& launch, const Environment& environment,
                     const PlaceRequest& request);

// Collective. Warns once, on rank 0, of settings with which NCCL is slow (slow_nccl_warnings). drl_doctor has a check
// for them.
void warn_of_slow_nccl(Communicator& comm, const Placement& mine);

// One of the ranks on a host. The functions below are pure.
struct HostRank {
  CpuSet allowed;         // hardware threads that the launcher allows
  int gpu = -1;           // position in Topology::gpus(); -1 if the rank has no GPU or its position is unknown
  int threads = 0;        // --threads, 0 if not given
  int cpus_per_task = 0;  // srun -c in hardware threads, 0 if not given
  int quota = 0;          // cpu_quota(), which the ranks of a host share
};

// Returns the position in `gpus` of the device that Slurm or CUDA calls `id` ("2", "GPU-8932f937-...",
// "MIG-GPU-8932f937-.../1/0"), or -1 if it is unknown. `root` contains NVIDIA's /proc/driver.
int find_gpu(const std::vector<Topology::Gpu>& gpus, const std::string& id, const std::filesystem::path& root = "/");

// Divides `cpus` into one disjoint part per rank. Ranks with GPUs get cores near their GPU if there are enough of them
// for the ranks' threads; otherwise all ranks divide all cores, in the order of their GPUs. Returns an empty list if
// there are fewer cores than ranks.
std::vector<CpuSet> divide_cores(const Topology& topology, const CpuSet& cpus, const std::vector<HostRank>& ranks);

// Returns the hardware threads to bind each of a host's ranks to. Returns an empty list if the ranks should keep their
// masks: if the launcher chose disjoint cores for them, if their masks contain more hardware threads than the `granted`
// number or the quota (other jobs may use the rest, and would choose the same ones), or if there are fewer cores than
// ranks.
std::vector<CpuSet> bindings(const Topology& topology, const std::vector<HostRank>& ranks, int granted);

// Returns the number of threads of ranks[rank]: --threads, else srun's -c limited to the rank's share of the cores and
// of the quota, else 1.
int threads_of(const Topology& topology, const std::vector<HostRank>& ranks, size_t rank);

// Returns a warning if threads of different ranks must share a core, if a rank has far more threads than cores, or if
// the ranks have more threads than the quota; otherwise "".
std::string shared_cores_warning(const Topology& topology, const std::vector<HostRank>& ranks, const std::string& host);

// Facts of a rank that affect NCCL's speed. `visible_gpus` and `cores` are those of Placement.
struct NcclRank {
  std::string host;
  bool on_gpu = false;
  int visible_gpus = 0, cores = 1;
};
// Each warning is about the first host that it applies to; "" means that it applies to none.
struct NcclWarnings {
  std::string hidden_gpus;  // each rank of a host sees only its own GPU: NCCL may use host memory instead of NVLink
  std::string
      one_core;  // on several hosts, each rank of a host has one core, which NCCL's threads for the network share
};
// `ranks` are all ranks of the run.
NcclWarnings slow_nccl_warnings(const std::vector<NcclRank>& ranks);

}  // namespace drl
