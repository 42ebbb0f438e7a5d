#include "placement/placement.hpp"

#include <algorithm>
#include <fstream>
#include <tuple>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/roll_call.hpp"
#include "comm/wire.hpp"
#include "placement/device.hpp"
#include "placement/relaunch.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

CpuSet union_of_masks(const std::vector<HostRank>& ranks) {
  CpuSet all;
  for (const HostRank& rank : ranks) all |= rank.allowed;
  return all;
}

bool disjoint(const std::vector<CpuSet>& sets) {
  CpuSet seen;
  for (const CpuSet& set : sets) {
    if (set.none() || (seen & set).any()) return false;
    seen |= set;
  }
  return true;
}

std::vector<CpuSet> masks(const std::vector<HostRank>& ranks) {
  std::vector<CpuSet> sets;
  for (const HostRank& rank : ranks) sets.push_back(rank.allowed);
  return sets;
}

// Returns the quota of the ranks of a host; 0 if one of them has none.
int quota_of(const std::vector<HostRank>& ranks) {
  const auto [least, most] = std::ranges::minmax(ranks, {}, &HostRank::quota);
  return least.quota == 0 ? 0 : most.quota;
}

// Returns 2 with hyper-threading.
int threads_per_core(const Topology& topology) {
  const CpuSet all = topology.all_cpus();
  return std::max(1, static_cast<int>(all.count()) / std::max(1, topology.count_cores(all)));
}

int cores_wanted(const Topology& topology, const HostRank& rank) {
  if (rank.threads) return rank.threads;
  const int per_core = threads_per_core(topology);
  return std::max(1, (rank.cpus_per_task + per_core - 1) / per_core);
}

// Returns the hardware threads of `cpus` near the rank's GPU; all of `cpus` if it has no GPU.
CpuSet cpus_near(const std::vector<Topology::Gpu>& gpus, const CpuSet& cpus, const HostRank& rank) {
  return rank.gpu < 0 ? cpus : cpus & gpus[rank.gpu].near;
}

size_t first_of(const CpuSet& cpus) {
  size_t cpu = 0;
  while (cpu < cpus.size() && !cpus[cpu]) ++cpu;
  return cpu;
}

// A set of hardware threads and the ranks that divide it.
struct Region {
  CpuSet cpus;
  std::vector<size_t> ranks;
  int cores_wanted = 0;
};

std::vector<Region> regions_of(const Topology& topology, const CpuSet& cpus, const std::vector<HostRank>& ranks) {
  const std::vector<Topology::Gpu> gpus = topology.gpus();
  std::vector<Region> regions;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const CpuSet near = cpus_near(gpus, cpus, ranks[rank]);
    auto region = std::ranges::find(regions, near, &Region::cpus);
    if (region == regions.end()) region = regions.insert(region, Region{near, {}, 0});
    region->ranks.push_back(rank);
    region->cores_wanted += cores_wanted(topology, ranks[rank]);
  }
  return regions;
}

// Returns whether the regions are disjoint and each has enough cores for its ranks.
bool regions_suffice(const Topology& topology, const std::vector<Region>& regions) {
  CpuSet seen;
  for (const Region& region : regions) {
    if ((seen & region.cpus).any() || topology.count_cores(region.cpus) < region.cores_wanted) return false;
    seen |= region.cpus;
  }
  return true;
}

// Returns one region for all ranks, which are sorted by their former regions.
Region merged(std::vector<Region> regions, const CpuSet& cpus) {
  std::ranges::stable_sort(regions, {}, [](const Region& region) { return first_of(region.cpus); });
  Region all{cpus, {}, 0};
  for (const Region& region : regions) all.ranks.insert(all.ranks.end(), region.ranks.begin(), region.ranks.end());
  return all;
}

// The properties of a rank that the ranks exchange.
struct Facts {
  std::string host, cpus;
  int threads = 0, cpus_per_task = 0, quota = 0;  // as in HostRank
  std::vector<std::string> gpus = {};             // ids; empty on the CPU
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Facts, host, cpus, threads, cpus_per_task, quota, gpus)

// Returns the position of this rank among the ranks of its host, and the facts of all ranks of the host. Rank 0 sends
// each rank only its host's facts, because those of all ranks would be too much data at scale.
std::pair<size_t, std::vector<Facts>> facts_of_host(Communicator& comm, const Facts& mine) {
  const std::vector<Facts> all = gather_facts(comm, mine);
  std::vector<std::string> replies(all.size());
  for (const Group& host : groups_of(column(all, &Facts::host))) {
    std::vector<Facts> here;
    for (int rank : host.ranks) here.push_back(all[rank]);
    const std::string text = to_wire(here);
    for (size_t k = 0; k < here.size(); ++k) replies[host.ranks[k]] = fmt::format("[{},{}]", k, text);
  }
  return from_wire<std::pair<size_t, std::vector<Facts>>>(scatter_texts(comm, replies));
}

// Returns the value of one of Slurm's CPU counts in hardware threads. Slurm already counts these, unless the step uses
// only one thread per core.
int slurm_cpus(const Topology& topology, const Environment& environment, const char* name) {
  const bool one_thread_a_core = environment("SLURM_THREADS_PER_CORE") == "1";
  return number(environment, name).value_or(0) * (one_thread_a_core ? threads_per_core(topology) : 1);
}

// Returns the ranks of a host. `devices` is the result of assign_devices.
std::vector<HostRank> ranks_of(const Topology& topology, const std::vector<Facts>& facts,
                               const std::vector<int>& devices) {
  const std::vector<Topology::Gpu> gpus = topology.gpus();
  std::vector<HostRank> ranks;
  for (size_t rank = 0; rank < facts.size(); ++rank) {
    const Facts& one = facts[rank];
    const int device = devices[rank], gpu = device < 0 ? -1 : find_gpu(gpus, one.gpus[device]);
    ranks.push_back({.allowed = cpus_of_text(one.cpus),
                     .gpu = gpu,
                     .threads = one.threads,
                     .cpus_per_task = one.cpus_per_task,
                     .quota = one.quota});
  }
  return ranks;
}

// Binds this process, if it should be bound, and returns the resulting placement.
Placement bind_and_describe(const Topology& topology, std::vector<HostRank>& ranks, size_t me, int granted) {
  const std::vector<CpuSet> parts = bindings(topology, ranks, granted);
  for (size_t rank = 0; rank < parts.size(); ++rank) ranks[rank].allowed = parts[rank];
  const CpuSet& cpus = ranks[me].allowed;
  Placement placement;
  placement.bound = !parts.empty() && bind_this_process(cpus);
  placement.cores = std::max(1, topology.count_cores(cpus));
  if (const int quota = quota_of(ranks)) placement.cores = std::min(placement.cores, quota);
  placement.ranks_on_host = static_cast<int>(ranks.size());
  placement.threads = threads_of(topology, ranks, me);
  return placement;
}

// Returns "1 core", "4 cores" or "1 to 7 ranks".
std::string range(const std::vector<int>& values, const std::string& what) {
  const auto [least, most] = std::ranges::minmax(values);
  return least == most ? counted(least, what) : fmt::format("{} to {}", least, counted(most, what));
}

// Returns the banner's text, the same on all ranks.
std::string summary(Communicator& comm, const Placement& mine) {
  std::vector<int> ranks, cores, threads;
  bool any_bound = false;
  for (const auto& [on_host, its_cores, its_threads, bound] :
       gather_facts(comm, std::tuple(mine.ranks_on_host, mine.cores, mine.threads, mine.bound))) {
    ranks.push_back(on_host), cores.push_back(its_cores), threads.push_back(its_threads);
    any_bound |= bound;
  }
  if (comm.rank() != 0) return broadcast_text(comm, "");
  return broadcast_text(comm,
                        fmt::format("{} per node, {} and {} per rank{}", range(ranks, "rank"), range(cores, "core"),
                                    range(threads, "thread"), any_bound ? ", bound by drl" : ""));
}

// Returns the number of GPUs that CUDA shows to this rank, whose GPU CUDA calls `gpu`; 0 for a part of a GPU (MIG), of
// which CUDA never shows two. `ids` are the rank's GPUs; a part may have a number instead of its name there.
int count_visible_gpus(const std::vector<std::string>& ids, int gpu) {
  const bool part = std::ranges::any_of(ids, [](const std::string& id) { return id.starts_with("MIG-"); }) ||
                    gpu_name(gpu).find("MIG") != std::string::npos;
  return part ? 0 : cuda_support().devices;
}

// Collective. Prints, on rank 0, the first warning that any rank has; "" is none.
void print_first_warning(Communicator& comm, const std::string& mine) {
  for (const std::string& warning : gather_texts(comm, mine))
    if (!warning.empty()) return log::warn("{}", warning);
}

// `visible` are the visible_gpus of a host's ranks.
std::string hidden_gpus_warning(const std::vector<int>& visible, const std::string& host) {
  if (visible.size() < 2 || std::ranges::any_of(visible, [](int count) { return count != 1; })) return "";
  return fmt::format(
      "each of the {} ranks on {} sees only its own GPU (NCCL may then use host memory instead of NVLink, see "
      "github.com/NVIDIA/nccl/issues/1066): let each rank see all GPUs of its node, with srun --gpu-bind=none and "
      "without --gpus-per-task or a wrapper that sets {}",
      visible.size(), host, kGpuVendor.slurm_list);
}

std::string one_core_warning(const std::string& host) {
  return "ranks on " + host +
         " have one core each (NCCL's threads, which send data between nodes, must share it): request several cores "
         "per rank, with srun --cpus-per-task=4";
}

}  // namespace

int find_gpu(const std::vector<Topology::Gpu>& gpus, const std::string& id, const fs::path& root) {
  if (const auto index = number_in<size_t>(id)) return *index < gpus.size() ? static_cast<int>(*index) : -1;
  // With older drivers, the name of a MIG device contains its GPU's UUID; with newer drivers it does not.
  const std::string uuid = id.starts_with("MIG-GPU-") ? id.substr(4, id.find('/') - 4) : id;
  if (!uuid.starts_with("GPU-")) return -1;
  for (size_t k = 0; k < gpus.size(); ++k) {
    std::ifstream file(root / "proc/driver/nvidia/gpus" / gpus[k].pci / "information");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("GPU UUID:") && trim(line.substr(9)).starts_with(uuid)) return static_cast<int>(k);
  }
  return -1;
}

std::vector<CpuSet> divide_cores(const Topology& topology, const CpuSet& cpus, const std::vector<HostRank>& ranks) {
  std::vector<Region> regions = regions_of(topology, cpus, ranks);
  if (!regions_suffice(topology, regions)) regions = {merged(std::move(regions), cpus)};
  std::vector<CpuSet> result(ranks.size());
  for (const Region& region : regions) {
    const std::vector<CpuSet> parts = topology.divide(region.cpus, static_cast<int>(region.ranks.size()));
    if (parts.empty()) return {};
    for (size_t k = 0; k < parts.size(); ++k) result[region.ranks[k]] = parts[k];
  }
  return result;
}

std::vector<CpuSet> bindings(const Topology& topology, const std::vector<HostRank>& ranks, int granted) {
  const CpuSet all = union_of_masks(ranks);
  if (const int quota = quota_of(ranks)) granted = std::min(granted, quota);
  const bool chosen = disjoint(masks(ranks)) && ranks.front().allowed != topology.all_cpus();
  if (chosen || all.none() || all.count() > static_cast<size_t>(granted)) return {};
  std::vector<CpuSet> parts = divide_cores(topology, all, ranks);
  return disjoint(parts) && parts != masks(ranks) ? parts : std::vector<CpuSet>();
}

int threads_of(const Topology& topology, const std::vector<HostRank>& ranks, size_t rank) {
  const HostRank& mine = ranks[rank];
  if (mine.threads) return mine.threads;
  // On some clusters -c counts cores, on others hardware threads. If the mask is restricted, the minimum below limits
  // the result to the mask's cores.
  const bool restricted = mine.allowed != topology.all_cpus();
  const int asked = restricted ? mine.cpus_per_task : cores_wanted(topology, mine);
  int cores = topology.count_cores(union_of_masks(ranks));
  if (const int quota = quota_of(ranks)) cores = std::min(cores, quota);
  const int share = cores / static_cast<int>(ranks.size());
  return std::max(1, std::min({asked, topology.count_cores(mine.allowed), share}));
}

std::string shared_cores_warning(const Topology& topology, const std::vector<HostRank>& ranks,
                                 const std::string& host) {
  // By Hall's theorem, for masks that are equal, nested or disjoint: each thread can have its own core if no mask
  // contains more threads than cores.
  std::vector<CpuSet> sets = masks(ranks);
  sets.push_back(union_of_masks(ranks));
  for (CpuSet& set : sets) set = topology.whole_cores(set);
  for (const CpuSet& set : sets) {
    int inside = 0, threads = 0;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if ((sets[rank] & ~set).none()) inside += 1, threads += threads_of(topology, ranks, rank);
    const int cores = topology.count_cores(set);
    const int enough = inside > 1 ? cores : 2 * cores;  // a single rank may use both hardware threads of its cores
    if (threads > enough && cores > 0)
      return fmt::format(
          "{} with {} in total {} {} of {} (training will be slow): use fewer ranks or threads (--ranks, --threads), "
          "or request more cores (srun -c)",
          counted(inside, "rank"), counted(threads, "thread"), inside == 1 ? "uses" : "share", counted(cores, "core"),
          host);
  }
  int threads = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) threads += threads_of(topology, ranks, rank);
  if (const int quota = quota_of(ranks); quota > 0 && threads > quota)
    return fmt::format(
        "{} with {} in total {} the time of {} of {} (the quota of their cgroup allows no more, so training will be "
        "slow): use fewer ranks or threads (--ranks, --threads), or raise the quota (docker --cpus, a limit in "
        "Kubernetes, CPUQuota of systemd)",
        counted(static_cast<int64_t>(ranks.size()), "rank"), counted(threads, "thread"),
        ranks.size() == 1 ? "uses" : "share", counted(quota, "core"), host);
  return "";
}

NcclWarnings slow_nccl_warnings(const std::vector<NcclRank>& ranks) {
  NcclWarnings warnings;
  const std::vector<Group> hosts = groups_of(column(ranks, &NcclRank::host));
  for (const Group& host : hosts) {
    std::vector<int> visible;
    bool one_core = hosts.size() > 1;
    for (int r : host.ranks) {
      const NcclRank& rank = ranks[r];
      visible.push_back(rank.visible_gpus);
      one_core &= rank.on_gpu && rank.cores == 1;
    }
    if (one_core && warnings.one_core.empty()) warnings.one_core = one_core_warning(host.text);
    if (warnings.hidden_gpus.empty()) warnings.hidden_gpus = hidden_gpus_warning(visible, host.text);
  }
  return warnings;
}

void warn_of_slow_nccl(Communicator& comm, const Placement& mine) {
  std::vector<NcclRank> ranks;
  for (const auto& [host, on_gpu, visible_gpus, cores] :
       gather_facts(comm, std::tuple(host_name(), mine.gpu >= 0, mine.visible_gpus, mine.cores)))
    ranks.push_back({host, on_gpu, visible_gpus, cores});
  const NcclWarnings warnings = slow_nccl_warnings(ranks);  // there are none on other ranks, which gather nothing
  for (const std::string& warning : {warnings.hidden_gpus, warnings.one_core})
    if (!warning.empty()) log::warn("{}", warning);
}

Placement place_rank(Communicator& comm, const LaunchInfo& launch, const Environment& environment,
                     const PlaceRequest& request) {
  Facts mine;
  DeviceChoice choice;
  const Topology* topology = nullptr;
  int granted = 0;
  on_all_ranks(comm, [&] {
    const Gpus gpus = visible_gpus(environment);
    choice =
        choose_device(request.device, request.gpu_ids, gpus, request.device == "cpu" ? CudaSupport{} : cuda_support());
    const bool near_gpus = choice.one_rank_per_gpu() && gpus.physical;
    topology = &Topology::of_this_machine(near_gpus ? Topology::Read::cores_and_gpus : Topology::Read::cores);
    mine.host = host_name();
    mine.cpus = to_text(allowed_cpus());
    mine.threads = request.threads;
    mine.quota = cpu_quota();
    mine.cpus_per_task = slurm_cpus(*topology, environment, "SLURM_CPUS_PER_TASK");
    mine.gpus = choice.gpus.ids;
    if (launch.launcher == "srun") granted = slurm_cpus(*topology, environment, "SLURM_CPUS_ON_NODE");
  });

  const auto [me, facts] = facts_of_host(comm, mine);
  std::vector<HostRank> ranks;
  Placement placement;
  on_all_ranks(comm, [&, me = me, &facts = facts] {
    std::vector<std::vector<std::string>> gpus;
    for (const Facts& one : facts) gpus.push_back(one.gpus);
    const std::vector<int> devices = assign_devices(gpus);
    ranks = ranks_of(*topology, facts, devices);
    placement = bind_and_describe(*topology, ranks, me, granted);
    if (choice.cuda) placement.gpu = choice.gpus.indices[devices[me]];
  });
  if (comm.rank() == 0 && !choice.warning.empty()) log::warn("{}", choice.warning);
  if (comm.rank() == 0 && !choice.info.empty()) log::info("{}", choice.info);
  if (placement.gpu >= 0) placement.device = fmt::format("cuda:{}", placement.gpu);
  placement.text = summary(comm, placement);
  if (choice.cuda) placement.visible_gpus = count_visible_gpus(mine.gpus, placement.gpu);
  const bool warns = me == 0 && !shortage_was_reported(environment);
  print_first_warning(comm, warns ? shared_cores_warning(*topology, ranks, mine.host) : "");
  return placement;
}

}  // namespace drl
