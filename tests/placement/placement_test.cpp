#include "placement/placement.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

using Lists = std::vector<std::string>;

Topology node(const std::string& name) { return Topology::of_file(test_data("placement/data/") + name + ".xml"); }

// On g4dn.metal, socket 0 has hardware threads 0-23 and 48-71 (their siblings), socket 1 has 24-47 and 72-95.
const Topology g4dn = node("g4dn.metal");

Lists texts(const std::vector<CpuSet>& sets) {
  Lists lists;
  for (const CpuSet& set : sets) lists.push_back(to_text(set));
  return lists;
}

// Returns `n` ranks that may all use `cpus`. If with_gpus, rank r has GPU r.
std::vector<HostRank> ranks_on(const CpuSet& cpus, int n, bool with_gpus = false) {
  std::vector<HostRank> ranks;
  for (int rank = 0; rank < n; ++rank) ranks.push_back({.allowed = cpus, .gpu = with_gpus ? rank : -1});
  return ranks;
}

std::vector<HostRank> ranks_on(const Lists& masks) {
  std::vector<HostRank> ranks;
  for (const std::string& mask : masks) ranks.push_back({.allowed = cpus_of_text(mask)});
  return ranks;
}

Lists divided(const Topology& topology, const std::vector<HostRank>& ranks) {
  return texts(divide_cores(topology, ranks.front().allowed, ranks));
}

TEST(CpuSet, IsUnchangedByConversionToText) {
  EXPECT_EQ(to_text(cpus_of_text("0-3,64-67,100")), "0-3,64-67,100");
  EXPECT_EQ(to_text(CpuSet()), "");
  EXPECT_EQ(cpus_of_text("").count(), 0u);
  EXPECT_EQ(cpus_of_text("7,900").count(), 2u);
}

TEST(Topology, CountsCoresNotThreads) {
  const Topology lassen = node("lassen"), dgx = node("dgx_a100");
  EXPECT_EQ(g4dn.all_cpus().count(), 96u);
  EXPECT_EQ(g4dn.count_cores(g4dn.all_cpus()), 48);
  EXPECT_EQ(g4dn.count_cores(cpus_of_text("0,48")), 1);
  EXPECT_EQ(g4dn.count_cores(cpus_of_text("0,49")), 2);
  EXPECT_EQ(to_text(g4dn.whole_cores(cpus_of_text("0,49"))), "0-1,48-49");
  EXPECT_EQ(lassen.count_cores(lassen.all_cpus()), 40);
  EXPECT_EQ(lassen.count_cores(cpus_of_text("8-11")), 1);  // 4 threads per core
  EXPECT_EQ(dgx.count_cores(dgx.all_cpus()), 128);
  EXPECT_EQ(dgx.count_cores(CpuSet()), 0);
}

TEST(Topology, ListsGpusWithTheCoresNearThem) {
  const auto near = [](const std::vector<Topology::Gpu>& gpus) {
    Lists lists;
    for (const Topology::Gpu& gpu : gpus) lists.push_back(to_text(gpu.near));
    return lists;
  };
  const std::string socket0 = "0-23,48-71", socket1 = "24-47,72-95";
  const std::vector<Topology::Gpu> g4dn = node("g4dn.metal").gpus();
  EXPECT_EQ(near(g4dn), (Lists{socket0, socket0, socket0, socket0, socket1, socket1, socket1, socket1}));
  EXPECT_EQ(g4dn.front().pci, "0000:18:00.0");
  EXPECT_EQ(g4dn.back().pci, "0000:f5:00.0");
  EXPECT_EQ(near(node("lassen").gpus()), (Lists{"8-87", "8-87", "96-175", "96-175"}));
  // The column "CPU Affinity" of `nvidia-smi topo -m` on a DGX A100.
  const std::string numa1 = "16-31,144-159", numa3 = "48-63,176-191", numa5 = "80-95,208-223",
                    numa7 = "112-127,240-255";
  EXPECT_EQ(near(node("dgx_a100").gpus()), (Lists{numa3, numa3, numa1, numa1, numa7, numa7, numa5, numa5}));
}

TEST(Topology, AMissingFileIsAnError) { EXPECT_THROW(Topology::of_file("/nowhere.xml"), Error); }

TEST(Topology, OfThisMachineHasCores) {
  const Topology& here = Topology::of_this_machine(Topology::Read::cores);
  EXPECT_GE(here.count_cores(here.all_cpus()), 1);
  EXPECT_EQ((allowed_cpus() & ~here.all_cpus()).count(), 0u);
  EXPECT_TRUE(here.gpus().empty()) << "the topology was read without GPUs";
}

TEST(FindGpu, AcceptsIndexUuidAndMigName) {
  const std::vector<Topology::Gpu> gpus = {{"0000:07:00.0", {}}, {"0000:0f:00.0", {}}};
  TempFolder root;
  const auto folder = root.path() / "proc/driver/nvidia/gpus/0000:0f:00.0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "information") << "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 297\n"
                                           "GPU UUID: \t GPU-8932f937-d72c-4106-c12f-20bd9faed9f6\n";
  const auto find = [&](const std::string& id) { return find_gpu(gpus, id, root.path()); };
  EXPECT_EQ(find("0"), 0);
  EXPECT_EQ(find("1"), 1);
  EXPECT_EQ(find("2"), -1);
  EXPECT_EQ(find("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"), 1);
  EXPECT_EQ(find("GPU-8932f937"), 1) << "CUDA accepts unique prefixes";
  EXPECT_EQ(find("GPU-0"), -1);
  EXPECT_EQ(find("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0"), 1);
  EXPECT_EQ(find("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"), -1) << "the name does not contain its GPU's UUID";
  EXPECT_EQ(find("0 of task 1"), -1);
}

TEST(DivideCores, CpuRanksGetNeighbours) {
  EXPECT_EQ(divided(g4dn, ranks_on(g4dn.all_cpus(), 2)), (Lists{"0-23,48-71", "24-47,72-95"}));
  EXPECT_EQ(divided(g4dn, ranks_on(g4dn.all_cpus(), 4)),
            (Lists{"0-11,48-59", "12-23,60-71", "24-35,72-83", "36-47,84-95"}));
  EXPECT_EQ(divided(g4dn, ranks_on(cpus_of_text("4-7,52-55"), 4)), (Lists{"4,52", "5,53", "6,54", "7,55"}));
}

TEST(DivideCores, RanksDoNotSpanSocketsUnnecessarily) {
  const CpuSet socket0 = cpus_of_text("0-23,48-71");
  for (int n : {3, 5, 7, 40, 48}) {
    const std::vector<CpuSet> parts = divide_cores(g4dn, g4dn.all_cpus(), ranks_on(g4dn.all_cpus(), n));
    ASSERT_EQ(parts.size(), static_cast<size_t>(n));
    CpuSet all;
    for (const CpuSet& part : parts) {
      EXPECT_TRUE(part.any() && (part & all).none());
      EXPECT_TRUE((part & socket0).none() || (part & ~socket0).none()) << n << " ranks: " << to_text(part);
      EXPECT_EQ(g4dn.whole_cores(part), part) << "a core is not divided";
      all |= part;
    }
    EXPECT_EQ(all, g4dn.all_cpus());
  }
}

TEST(DivideCores, FewerCoresThanRanksAreNotDivided) {
  EXPECT_TRUE(divided(g4dn, ranks_on(cpus_of_text("0-1,48-49"), 3)).empty());
  EXPECT_TRUE(divided(g4dn, ranks_on(CpuSet(), 2)).empty());
}

TEST(DivideCores, GpuRanksGetTheCoresNearTheirGpu) {
  const Topology lassen = node("lassen"), dgx = node("dgx_a100");
  EXPECT_EQ(divided(g4dn, ranks_on(g4dn.all_cpus(), 8, true)),
            (Lists{"0-5,48-53", "6-11,54-59", "12-17,60-65", "18-23,66-71", "24-29,72-77", "30-35,78-83", "36-41,84-89",
                   "42-47,90-95"}));
  EXPECT_EQ(divided(lassen, ranks_on(lassen.all_cpus(), 4, true)), (Lists{"8-47", "48-87", "96-135", "136-175"}));
  // Two GPUs share a NUMA node; the four nodes without GPUs stay free.
  EXPECT_EQ(divided(dgx, ranks_on(dgx.all_cpus(), 8, true)),
            (Lists{"48-55,176-183", "56-63,184-191", "16-23,144-151", "24-31,152-159", "112-119,240-247",
                   "120-127,248-255", "80-87,208-215", "88-95,216-223"}));
}

TEST(DivideCores, GpuRanksWithManyThreadsGetAllCoresInTheOrderOfTheirGpus) {
  const Topology dgx = node("dgx_a100");
  std::vector<HostRank> ranks = ranks_on(dgx.all_cpus(), 8, true);
  for (HostRank& rank : ranks) rank.cpus_per_task = 32;  // 16 cores, but only 8 are near each GPU
  EXPECT_EQ(divided(dgx, ranks), (Lists{"32-47,160-175", "48-63,176-191", "0-15,128-143", "16-31,144-159",
                                        "96-111,224-239", "112-127,240-255", "64-79,192-207", "80-95,208-223"}));
}

TEST(DivideCores, GpuRanksWithoutCoresNearTheirGpuGetOthers) {
  // All granted cores are on socket 0, GPU 4 is on socket 1.
  std::vector<HostRank> ranks = ranks_on(cpus_of_text("0-3,48-51"), 2);
  ranks[0].gpu = 4, ranks[1].gpu = 0;
  const std::vector<CpuSet> parts = divide_cores(g4dn, ranks[0].allowed, ranks);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(g4dn.count_cores(parts[0]), 2);
  EXPECT_EQ(g4dn.count_cores(parts[1]), 2);
  EXPECT_TRUE((parts[0] & parts[1]).none());
}

TEST(Bindings, DivideWhatSlurmGranted) {
  const struct {
    const char* what;
    std::vector<HostRank> ranks;
    int granted;
    Lists expected;
  } cases[] = {
      {"a whole node", ranks_on(g4dn.all_cpus(), 2), 96, {"0-23,48-71", "24-47,72-95"}},
      {"a part of it", ranks_on(cpus_of_text("0-1,48-49"), 2), 4, {"0,48", "1,49"}},
      {"other jobs may share the cores", ranks_on(g4dn.all_cpus(), 2), 95, {}},
      {"no srun", ranks_on(g4dn.all_cpus(), 2), 0, {}},
      {"the launcher chose disjoint threads", ranks_on(Lists{"0", "2"}), 96, {}},
      {"the launcher chose disjoint cores", ranks_on(Lists{"0-47", "48-95"}), 96, {}},
      {"the launcher bound the only rank", ranks_on(Lists{"0-3"}), 96, {}},
      {"one rank: nothing would change", ranks_on(g4dn.all_cpus(), 1), 96, {}},
      {"one rank with a GPU", ranks_on(g4dn.all_cpus(), 1, true), 96, {"0-23,48-71"}},
      {"too few cores", ranks_on(cpus_of_text("0,48"), 2), 96, {}},
      {"no cores", ranks_on(CpuSet(), 2), 96, {}},
      {"cores that the topology does not have", ranks_on(cpus_of_text("500-503"), 2), 96, {}},
  };
  for (const auto& [what, ranks, granted, expected] : cases)
    EXPECT_EQ(texts(bindings(g4dn, ranks, granted)), expected) << what;
  EXPECT_EQ(bindings(g4dn, ranks_on(Lists{"0-1", "1-2"}), 96).size(), 2u) << "overlapping masks are divided together";
}

TEST(ThreadsOf, FollowTheAllocationAndTheOption) {
  const Lists eight = {"0-3,48-51", "4-7,52-55"}, two = {"0,48", "1,49"};
  const struct {
    const char* what;
    std::vector<HostRank> ranks;
    int option, cpus_per_task, expected;
  } cases[] = {{"no -c", ranks_on(eight), 0, 0, 1},
               {"Slurm counts hardware threads", ranks_on(eight), 0, 8, 4},
               {"Slurm counts cores", ranks_on(eight), 0, 4, 4},
               {"nothing is bound", ranks_on(g4dn.all_cpus(), 2), 0, 8, 4},
               {"an odd hardware thread counts as a core", ranks_on(g4dn.all_cpus(), 2), 0, 7, 4},
               {"-c is that of the batch script, not of this step", ranks_on(two), 0, 8, 1},
               {"two ranks share four cores", ranks_on(cpus_of_text("0-3"), 2), 0, 4, 2},
               {"two ranks share one core", ranks_on(cpus_of_text("0"), 2), 0, 4, 1},
               {"the other rank's cores do not count", ranks_on(Lists{"0", "1-7"}), 0, 4, 1},
               {"the option has precedence", ranks_on(two), 3, 8, 3}};
  for (auto [what, ranks, option, cpus_per_task, expected] : cases) {
    for (HostRank& rank : ranks) rank.threads = option, rank.cpus_per_task = cpus_per_task;
    EXPECT_EQ(threads_of(g4dn, ranks, 0), expected) << what;
  }
}

TEST(SharedCoresWarning, MentionsTheHostAndWhatToDo) {
  expect_mentions(shared_cores_warning(g4dn, ranks_on(cpus_of_text("0-1"), 4), "node1"),
                  {"4 ranks", "4 threads", "2 cores", "node1", "--ranks", "--threads", "srun -c"});
}

TEST(SharedCoresWarning, CountsTheThreadsOfTheRanksThatShareACore) {
  const struct {
    const char* what;
    std::vector<HostRank> ranks;
    int threads;  // of each rank; 0: one
    std::vector<std::string_view> mentioned;
  } cases[] = {{"a core for each", ranks_on(Lists{"0", "1"}), 0, {}},
               {"the operating system places them", ranks_on(cpus_of_text("0-3"), 4), 0, {}},
               {"threads of one rank may share a core", ranks_on(Lists{"0,48"}), 0, {}},
               {"too many threads", ranks_on(Lists{"0-1"}), 1000, {"1 rank ", "1000 threads", "2 cores"}},
               {"hardware threads of one core", ranks_on(Lists{"0", "48"}), 0, {"2 ranks", "2 threads", "1 core "}},
               {"two of three ranks", ranks_on(Lists{"0", "0", "1-9"}), 0, {"2 ranks", "2 threads", "1 core "}},
               {"siblings", ranks_on(Lists{"0", "48", "1-9"}), 0, {"2 ranks", "2 threads", "1 core "}},
               {"threads, not ranks", ranks_on(cpus_of_text("0-3"), 2), 3, {"2 ranks", "6 threads", "4 cores"}}};
  for (auto [what, ranks, threads, mentioned] : cases) {
    for (HostRank& rank : ranks) rank.threads = threads;
    const std::string warning = shared_cores_warning(g4dn, ranks, "node1");
    EXPECT_EQ(warning.empty(), mentioned.empty()) << what;
    for (const std::string_view part : mentioned) expect_mentions(warning, {part});
  }
}

// Makes a file /proc/self/cgroup, and the files of the cgroups.
void write_cgroups(const fs::path& root, const std::string& groups, const std::map<std::string, std::string>& files) {
  fs::create_directories(root / "proc/self");
  spill(root / "proc/self/cgroup", groups);
  for (const auto& [name, text] : files) {
    const fs::path file = root / "sys/fs/cgroup" / name;
    fs::create_directories(file.parent_path());
    spill(file, text);
  }
}

int quota_in(const std::string& groups, const std::map<std::string, std::string>& files) {
  const TempFolder root;
  write_cgroups(root.path(), groups, files);
  return cpu_quota(root.path());
}

// The formats are those of proc_meminfo(5), of the kernel's documentation of cgroup-v2 and of its memory.txt (version
// 1).
TEST(AvailableMemory, IsTheLeastOfTheMachineAndTheCgroups) {
  const auto left = [](const std::string& groups, const std::map<std::string, std::string>& files) {
    const TempFolder root;
    write_cgroups(root.path(), groups, files);
    spill(root / "proc/meminfo", "MemTotal: 9000 kB\nMemFree:  10 kB\nMemAvailable:    4000 kB\n");
    return available_memory(root.path());
  };
  const std::string v2 = "0::/job/step\n", v1 = "4:cpu:/c\n12:memory:/m/n\n";
  EXPECT_EQ(available_memory("/nowhere"), std::nullopt);
  EXPECT_EQ(left("", {}), 4'096'000);
  EXPECT_EQ(left(v2, {{"job/step/memory.max", "max\n"}, {"job/step/memory.current", "70\n"}}), 4'096'000);
  EXPECT_EQ(left(v2, {{"job/step/memory.max", "max\n"},
                      {"job/step/memory.current", "70\n"},
                      {"job/memory.max", "1000\n"},
                      {"job/memory.current", "300\n"},
                      {"job/memory.stat", "anon 250\ninactive_file 50\nactive_file 0\n"}}),
            750);
  EXPECT_EQ(left(v1, {{"memory/m/memory.limit_in_bytes", "5000\n"},
                      {"memory/m/memory.usage_in_bytes", "2000\n"},
                      {"memory/m/n/memory.limit_in_bytes", "9223372036854771712\n"},
                      {"memory/m/n/memory.usage_in_bytes", "2000\n"}}),
            3000);
}

// The formats are those of cgroups(7), of the kernel's documentation of cgroup-v2 and of its sched-bwc.rst.
TEST(CpuQuota, IsTheLeastOfTheCgroupAndItsParentsRoundedUp) {
  const std::string v2 = "0::/a.slice/b.service\n", v1 = "12:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/s\n0::/s\n";
  EXPECT_EQ(quota_in("", {}), 0) << "no cgroups";
  EXPECT_EQ(quota_in(v2, {{"a.slice/b.service/cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(quota_in(v2, {{"a.slice/b.service/cpu.max", "50000 100000\n"}}), 1);
  EXPECT_EQ(quota_in(v2, {{"a.slice/b.service/cpu.max", "250000 100000\n"}}), 3);
  EXPECT_EQ(quota_in(v2, {{"a.slice/b.service/cpu.max", "max 100000"}, {"a.slice/cpu.max", "400000 100000\n"}}), 4);
  EXPECT_EQ(quota_in(v2, {{"a.slice/b.service/cpu.max", "300000 50000"}, {"a.slice/cpu.max", "200000 100000"}}), 2);
  EXPECT_EQ(quota_in(v2, {{"cpu.max", "100000 100000\n"}}), 1) << "a container shows the path outside";
  EXPECT_EQ(quota_in(v2, {{"c.slice/cpu.max", "100000 100000\n"}}), 0) << "of others";
  for (const std::string mount : {"cpu,cpuacct", "cpu"}) {
    const auto files = [&](const std::string& group, const std::string& time) {
      return std::map<std::string, std::string>{{mount + group + "/cpu.cfs_quota_us", time},
                                                {mount + group + "/cpu.cfs_period_us", "100000\n"}};
    };
    EXPECT_EQ(quota_in(v1, files("/a/b", "-1\n")), 0);
    EXPECT_EQ(quota_in(v1, files("/a/b", "150000\n")), 2) << mount;
    EXPECT_EQ(quota_in(v1, files("/a", "300000\n")), 3) << mount;
    EXPECT_EQ(quota_in(v1, files("", "800000\n")), 8) << mount;
    EXPECT_EQ(quota_in(v1, files("/m", "150000\n")), 0) << "the cgroup of memory";
  }
  EXPECT_EQ(quota_in(v2, {{"a.slice/cpu.max", "\n"}, {"cpu.max", "x 1\n"}}), 0) << "no numbers";
}

TEST(CpuQuota, LimitsThreadsAndBindings) {
  std::vector<HostRank> ranks = ranks_on(g4dn.all_cpus(), 2);
  for (HostRank& rank : ranks) rank.cpus_per_task = 8, rank.quota = 6;
  EXPECT_EQ(threads_of(g4dn, ranks, 0), 3);
  EXPECT_EQ(shared_cores_warning(g4dn, ranks, "node1"), "");
  EXPECT_TRUE(bindings(g4dn, ranks, 96).empty()) << "other containers would choose the same cores";
  for (HostRank& rank : ranks) rank.threads = 4;
  expect_mentions(shared_cores_warning(g4dn, ranks, "node1"),
                  {"2 ranks", "8 threads", "share", "6 cores", "node1", "quota", "--ranks", "--threads"});
  ranks[1].quota = 0;
  EXPECT_EQ(shared_cores_warning(g4dn, ranks, "node1"), "") << "in another container, which has no quota";
}

// Returns ranks on these hosts, each of which sees `visible` GPUs and has `cores` cores.
std::vector<NcclRank> nccl_ranks(const std::vector<std::string>& hosts, int visible, int cores = 8) {
  std::vector<NcclRank> ranks;
  for (const std::string& host : hosts)
    ranks.push_back({.host = host, .on_gpu = true, .visible_gpus = visible, .cores = cores});
  return ranks;
}

TEST(SlowNcclWarnings, GpusAreHiddenIfNoRankOfAHostSeesAnotherRanksGpu) {
  const auto hidden = [](const std::vector<NcclRank>& ranks) { return slow_nccl_warnings(ranks).hidden_gpus; };
  expect_mentions(hidden(nccl_ranks({"node1", "node1", "node1", "node1"}, 1)),
                  {"4 ranks on node1", "host memory", "NVLink", "--gpu-bind=none", "CUDA_VISIBLE_DEVICES"});
  EXPECT_EQ(hidden(nccl_ranks({"node1", "node2"}, 1)), "") << "no rank has a neighbour";
  EXPECT_EQ(hidden(nccl_ranks({"node1", "node1"}, 2)), "");
  EXPECT_EQ(hidden(nccl_ranks({"node1", "node1"}, 0)), "") << "parts of GPUs (MIG)";
  std::vector<NcclRank> ranks = nccl_ranks({"node1", "node2", "node1", "node2"}, 2);
  ranks[1].visible_gpus = ranks[3].visible_gpus = 1;
  expect_mentions(hidden(ranks), {"2 ranks on node2"});
  ranks[3].visible_gpus = 2;
  EXPECT_EQ(hidden(ranks), "");
}

TEST(SlowNcclWarnings, OneCoreMattersForGpusOfSeveralHosts) {
  const auto one_core = [](const std::vector<NcclRank>& ranks) { return slow_nccl_warnings(ranks).one_core; };
  expect_mentions(one_core(nccl_ranks({"node1", "node2"}, 1, 1)), {"node1", "NCCL", "--cpus-per-task=4"});
  EXPECT_EQ(one_core(nccl_ranks({"node1", "node1"}, 2, 1)), "") << "NCCL sends nothing through a network";
  std::vector<NcclRank> ranks = nccl_ranks({"node1", "node2"}, 1, 2);
  EXPECT_EQ(one_core(ranks), "");
  ranks[1].cores = 1;
  expect_mentions(one_core(ranks), {"node2"});
  ranks.push_back({.host = "node2", .on_gpu = true, .visible_gpus = 1, .cores = 2});
  EXPECT_EQ(one_core(ranks), "") << "another rank of node2 has two cores";
  ranks.pop_back();
  ranks[1].on_gpu = false;
  EXPECT_EQ(one_core(ranks), "") << "ranks on CPUs do not use NCCL";
}

}  // namespace
}  // namespace drl
