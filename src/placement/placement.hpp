// Where a rank computes: its device, its cores, its threads. Settled once, before threads exist.
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
  int gpu = -1;                // what CUDA calls this rank's GPU; -1 on the CPU
  int threads = 1;
  bool bound = false;  // by us, to a part of the hardware threads that the host's ranks came with
  int cores = 1;       // physical cores that this rank may use
  int ranks_on_host = 1;
  std::string text;  // for the banner: "4 ranks a node, 1 core and 1 thread a rank"
};

// Collective. Finds who shares the host, assigns devices, binds this process to its part of the cores where Slurm left
// that to us, and warns (rank 0, once) when ranks share cores. `device`, `gpu_ids` and `threads` are the options'.
// Throws ReportedError on all ranks for options that are not possible. A topology that cannot be read is no error: then
// nothing is bound.
Placement place_rank(Communicator& comm, const LaunchInfo& launch, const Environment& environment,
                     const std::string& device, const std::string& gpu_ids, std::optional<int> threads);

// One of a host's ranks, as the functions below see it. They are pure.
struct HostRank {
  CpuSet allowed;         // hardware threads that it came with
  int gpu = -1;           // its place in Topology::gpus(); -1 for none, or one of unknown place
  int threads = 0;        // --threads, 0 if not given
  int cpus_per_task = 0;  // srun -c in hardware threads, 0 if not given
};

// The place in `gpus` of the device that Slurm or CUDA calls `id`: "2", "GPU-8932f937-...", "MIG-GPU-8932f937-.../1/0";
// -1 if that is not known. `root` is where NVIDIA's /proc/driver is.
int find_gpu(const std::vector<Topology::Gpu>& gpus, const std::string& id, const std::filesystem::path& root = "/");

// Disjoint parts of `cpus` for a host's ranks: those with GPUs divide the cores near them if these suffice for their
// threads, otherwise all divide all, in the order of their GPUs. Empty if cores are fewer than ranks.
std::vector<CpuSet> divide_cores(const Topology& topology, const CpuSet& cpus, const std::vector<HostRank>& ranks);

// What each of a host's ranks shall be bound to; empty if they keep what they came with: when the launcher chose
// disjoint cores for them, or opened more hardware threads to them than the `granted` ones (other jobs may compute
// there, and would choose the same), or when cores are fewer than ranks.
std::vector<CpuSet> bindings(const Topology& topology, const std::vector<HostRank>& ranks, int granted);

// How many threads ranks[rank] computes with: --threads, else -c, but no more than there are cores for, else 1.
int threads_of(const Topology& topology, const std::vector<HostRank>& ranks, size_t rank);

// The warning if a thread of some rank has to share its core with another rank's, else "".
std::string shared_cores_warning(const Topology& topology, const std::vector<HostRank>& ranks, const std::string& host);

}  // namespace drl
