#include "cluster/placement.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <span>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cluster/device.hpp"
#include "cluster/machine.hpp"
#include "cluster/relaunch.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

CpuSet together(const std::vector<HostRank>& ranks) {
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

// 2 with hyper-threading.
int threads_per_core(const Topology& topology) {
  const CpuSet all = topology.all_cpus();
  return std::max(1, static_cast<int>(all.count()) / std::max(1, topology.count_cores(all)));
}

int cores_wanted(const Topology& topology, const HostRank& rank) {
  if (rank.threads) return rank.threads;
  const int per_core = threads_per_core(topology);
  return std::max(1, (rank.cpus_per_task + per_core - 1) / per_core);
}

// The cores near a rank's GPU; all where it has none.
CpuSet region(const std::vector<Topology::Gpu>& gpus, const CpuSet& cpus, const HostRank& rank) {
  return rank.gpu < 0 ? cpus : cpus & gpus[static_cast<size_t>(rank.gpu)].near;
}

size_t first_of(const CpuSet& cpus) {
  size_t cpu = 0;
  while (cpu < cpus.size() && !cpus[cpu]) ++cpu;
  return cpu;
}

// A region and the ranks that divide it.
struct Group {
  CpuSet cpus;
  std::vector<size_t> ranks;
  int cores_wanted = 0;
};

std::vector<Group> groups_by_region(const Topology& topology, const CpuSet& cpus, const std::vector<HostRank>& ranks) {
  const std::vector<Topology::Gpu> gpus = topology.gpus();
  std::vector<Group> groups;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const CpuSet near = region(gpus, cpus, ranks[rank]);
    auto group = std::ranges::find(groups, near, &Group::cpus);
    if (group == groups.end()) group = groups.insert(group, Group{near, {}, 0});
    group->ranks.push_back(rank);
    group->cores_wanted += cores_wanted(topology, ranks[rank]);
  }
  return groups;
}

bool suffice(const Topology& topology, const std::vector<Group>& groups) {
  CpuSet seen;
  for (const Group& group : groups) {
    if ((seen & group.cpus).any() || topology.count_cores(group.cpus) < group.cores_wanted) return false;
    seen |= group.cpus;
  }
  return true;
}

// All ranks in one group, sorted by their regions.
Group all_in_one(std::vector<Group> groups, const CpuSet& cpus) {
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return first_of(group.cpus); });
  Group all{cpus, {}, 0};
  for (const Group& group : groups) all.ranks.insert(all.ranks.end(), group.ranks.begin(), group.ranks.end());
  return all;
}

// What a rank tells the others.
struct Facts {
  std::string host;
  HostRank rank;
  std::vector<std::string> gpus;  // ids; empty on the CPU
};

std::string text_of(const Facts& facts) {
  return join({facts.host, to_text(facts.rank.allowed), std::to_string(facts.rank.threads),
               std::to_string(facts.rank.cpus_per_task), join(facts.gpus, ",")},
              "\t");
}

Facts facts_of(const std::string& text) {
  const std::vector<std::string> fields = split(text, '\t');
  Facts facts{fields[0], {cpus_of_text(fields[1]), -1, std::stoi(fields[2]), std::stoi(fields[3])}, {}};
  if (!fields[4].empty()) facts.gpus = split(fields[4], ',');
  return facts;
}

// The ranks of this host in the order of their ranks, and which of them this one is.
struct Host {
  std::vector<Facts> facts;
  std::vector<HostRank> ranks;
  size_t me = 0;
};

// Rank 0 deals the facts out by host: what all ranks say is too much for all ranks to hear.
std::vector<std::string> texts_by_host(const std::vector<std::string>& all) {
  std::map<std::string, std::vector<std::string>> of_host;
  std::vector<std::string> replies;
  for (const std::string& text : all) {
    std::vector<std::string>& texts = of_host[facts_of(text).host];
    replies.push_back(std::to_string(texts.size()));  // which of them the rank is
    texts.push_back(text);
  }
  for (size_t rank = 0; rank < all.size(); ++rank)
    replies[rank] += "\n" + join(of_host[facts_of(all[rank]).host], "\n");
  return replies;
}

Host meet(Communicator& comm, const Facts& mine) {
  const std::vector<std::string> all = gather_texts(comm, text_of(mine));
  const std::vector<std::string> lines = split(scatter_texts(comm, texts_by_host(all)), '\n');
  Host host;
  host.me = std::stoul(lines[0]);
  for (size_t k = 1; k < lines.size(); ++k) {
    host.facts.push_back(facts_of(lines[k]));
    host.ranks.push_back(host.facts.back().rank);
  }
  return host;
}

// Slurm's "CPUs" as hardware threads: they are that already, unless the step takes one of each core only.
int slurm_cpus(const Topology& topology, const Environment& environment, const char* name) {
  const bool one_thread_a_core = environment("SLURM_THREADS_PER_CORE") == "1";
  return number(environment, name).value_or(0) * (one_thread_a_core ? threads_per_core(topology) : 1);
}

// What is asked of the ranks before they know of each other. Throws UsageError.
Facts facts_of_this_rank(const Topology& topology, const Environment& environment, std::optional<int> threads) {
  Facts facts;
  facts.host = this_machine().host;
  facts.rank.allowed = allowed_cpus();
  facts.rank.threads = threads.value_or(0);
  facts.rank.cpus_per_task = slurm_cpus(topology, environment, "SLURM_CPUS_PER_TASK");
  return facts;
}

// Returns this rank's, an index into its own.
DeviceAssignment assign_gpus(const Topology& topology, Host& host) {
  const std::vector<Topology::Gpu> gpus = topology.gpus();
  std::vector<std::vector<std::string>> ids;
  for (const Facts& facts : host.facts) ids.push_back(facts.gpus);
  for (size_t rank = 0; rank < ids.size(); ++rank) {
    const DeviceAssignment assigned = assign_device(ids, static_cast<int>(rank));
    if (!assigned.cpu) host.ranks[rank].gpu = find_gpu(gpus, ids[rank][static_cast<size_t>(assigned.index)]);
  }
  return assign_device(ids, static_cast<int>(host.me));
}

// Binds this process, if that is to be, and says what came of it.
Placement settle(const Topology& topology, Host& host, int granted) {
  const std::vector<CpuSet> parts = bindings(topology, host.ranks, granted);
  for (size_t rank = 0; rank < parts.size(); ++rank) host.ranks[rank].allowed = parts[rank];
  const CpuSet& cpus = host.ranks[host.me].allowed;
  Placement placement;
  if (!parts.empty() && bind_this_process(cpus))
    for (size_t cpu = 0; cpu < cpus.size(); ++cpu)
      if (cpus[cpu]) placement.cpus.push_back(static_cast<int>(cpu));
  placement.cores = std::max(1, topology.count_cores(cpus));
  placement.ranks_on_host = static_cast<int>(host.ranks.size());
  placement.threads = threads_of(topology, host.ranks, host.me);
  return placement;
}

// "1 core", "4 cores", "1 to 7 ranks".
std::string range(const std::vector<int>& values, const std::string& what) {
  const auto [least, most] = std::ranges::minmax(values);
  return least == most ? counted(least, what) : std::to_string(least) + " to " + counted(most, what);
}

// The banner's text, the same on all ranks.
std::string summary(Communicator& comm, const Placement& placement) {
  const int mine[] = {placement.ranks_on_host, placement.cores, placement.threads, !placement.cpus.empty()};
  const std::vector<std::byte> bytes = comm.gather(std::as_bytes(std::span(mine)), 0);
  if (comm.rank() != 0) return broadcast_text(comm, "");
  std::vector<int> all(bytes.size() / sizeof(int));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  const auto column = [&](size_t k) {
    std::vector<int> values;
    for (size_t at = k; at < all.size(); at += std::size(mine)) values.push_back(all[at]);
    return values;
  };
  const bool bound = std::ranges::max(column(3)) > 0;
  return broadcast_text(comm, range(column(0), "rank") + " a node, " + range(column(1), "core") + " and " +
                                  range(column(2), "thread") + " a rank" + (bound ? ", bound by drl" : ""));
}

// Each host's first rank may have one; rank 0 says the first of them.
void say_first_warning(Communicator& comm, const std::string& warning) {
  for (const std::string& text : gather_texts(comm, warning))
    if (!text.empty()) return log::warn("{}", text);
}

}  // namespace

int find_gpu(const std::vector<Topology::Gpu>& gpus, const std::string& id, const fs::path& root) {
  const bool is_index = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos && id.size() < 5;
  if (is_index) return std::stoul(id) < gpus.size() ? std::stoi(id) : -1;
  // A MIG device of older drivers names its GPU; one of newer drivers does not.
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
  std::vector<Group> groups = groups_by_region(topology, cpus, ranks);
  if (!suffice(topology, groups)) groups = {all_in_one(std::move(groups), cpus)};
  std::vector<CpuSet> result(ranks.size());
  for (const Group& group : groups) {
    const std::vector<CpuSet> parts = topology.divide(group.cpus, static_cast<int>(group.ranks.size()));
    if (parts.empty()) return {};
    for (size_t k = 0; k < parts.size(); ++k) result[group.ranks[k]] = parts[k];
  }
  return result;
}

std::vector<CpuSet> bindings(const Topology& topology, const std::vector<HostRank>& ranks, int granted) {
  const CpuSet all = together(ranks);
  const bool chosen = disjoint(masks(ranks)) && ranks.front().allowed != topology.all_cpus();
  if (chosen || all.none() || all.count() > static_cast<size_t>(granted)) return {};
  std::vector<CpuSet> parts = divide_cores(topology, all, ranks);
  return disjoint(parts) && parts != masks(ranks) ? parts : std::vector<CpuSet>();
}

int threads_of(const Topology& topology, const std::vector<HostRank>& ranks, size_t rank) {
  const HostRank& mine = ranks[rank];
  if (mine.threads) return mine.threads;
  // Some clusters count cores and some hardware threads; a mask of our own tells which.
  const bool own = mine.allowed != topology.all_cpus();
  const int asked = own ? mine.cpus_per_task : cores_wanted(topology, mine);
  const int share = topology.count_cores(together(ranks)) / static_cast<int>(ranks.size());
  return std::max(1, std::min({asked, topology.count_cores(mine.allowed), share}));
}

std::string shared_cores_warning(const Topology& topology, const std::vector<HostRank>& ranks,
                                 const std::string& host) {
  // Each thread can have a core (Hall's theorem, for masks that are equal, nested or disjoint) if those within each
  // mask are no more than its cores.
  std::vector<CpuSet> sets = masks(ranks);
  sets.push_back(together(ranks));
  for (CpuSet& set : sets) set = topology.whole_cores(set);
  for (const CpuSet& set : sets) {
    int inside = 0, threads = 0;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if ((sets[rank] & ~set).none()) inside += 1, threads += threads_of(topology, ranks, rank);
    const int cores = topology.count_cores(set);
    if (inside > 1 && threads > cores && cores > 0)
      return counted(inside, "rank") + " with " + counted(threads, "thread") + " in all share " +
             counted(cores, "core") + " of " + host + ": use fewer ranks or threads, or ask for more cores";
  }
  return "";
}

Placement place_rank(Communicator& comm, const LaunchInfo& launch, const Environment& environment,
                     const std::string& device, const std::string& gpu_ids, std::optional<int> threads) {
  Facts mine;
  DeviceChoice choice;
  const Topology* topology = nullptr;
  int granted = 0;
  on_all_ranks(comm, [&] {
    const Gpus gpus = visible_gpus(environment);
    choice = choose_device(device, gpu_ids, gpus, device == "cpu" ? CudaSupport{} : cuda_support());
    const bool near_gpus = choice.one_rank_per_gpu() && gpus.physical;
    topology = &Topology::of_this_machine(near_gpus ? Topology::Read::cores_and_gpus : Topology::Read::cores);
    mine = facts_of_this_rank(*topology, environment, threads);
    mine.gpus = choice.gpus.ids;
    if (launch.launcher == "srun") granted = slurm_cpus(*topology, environment, "SLURM_CPUS_ON_NODE");
  });

  Host host = meet(comm, mine);
  Placement placement;
  on_all_ranks(comm, [&] {
    const DeviceAssignment assigned = assign_gpus(*topology, host);
    placement = settle(*topology, host, granted);
    if (choice.cuda) placement.gpu = choice.gpus.places[static_cast<size_t>(assigned.index)];
  });
  if (comm.rank() == 0 && !choice.warning.empty()) log::warn("{}", choice.warning);
  if (comm.rank() == 0 && !choice.info.empty()) log::info("{}", choice.info);
  if (placement.gpu >= 0) placement.device = "cuda:" + std::to_string(placement.gpu);
  placement.text = summary(comm, placement);
  const bool speaks = host.me == 0 && !shortage_is_known(environment);
  say_first_warning(comm, speaks ? shared_cores_warning(*topology, host.ranks, mine.host) : "");
  return placement;
}

}  // namespace drl
