// What the doctor says of GPUs.
#include "doctor/gpu_findings.hpp"

#include <gtest/gtest.h>

#include "doctor/findings.hpp"

namespace drl {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> kHosts = {"n1", "n1", "n2", "n2"};

std::vector<RankFacts> four_ranks() {
  std::vector<RankFacts> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    RankFacts& facts = ranks[static_cast<size_t>(rank)];
    facts.rank = rank;
    facts.host = kHosts[static_cast<size_t>(rank)];
    facts.device = "cuda:" + std::to_string(rank % 2);
    facts.gpu = "H100", facts.uuid = "GPU-" + std::to_string(rank), facts.pci = "0000:0" + std::to_string(rank) + ":00";
    facts.driver = "580.65, CUDA 13.0", facts.cuda = "13.0", facts.nccl = "2.28.9";
  }
  return ranks;
}

TEST(GpuUsers, AreAllRanksOrNone) {
  const CudaSupport cuda{true, 2, ""};
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(gpu_users_finding(ranks, cuda, false).status, Status::ok);
  EXPECT_EQ(gpu_users_finding(ranks, cuda, false).finding, "4 ranks, each with a GPU");
  ranks[2].device = ranks[3].device = "cpu";
  const Check some = gpu_users_finding(ranks, cuda, false);
  EXPECT_EQ(some.status, Status::failed);
  EXPECT_EQ(some.finding, "ranks 2, 3 on n2 found no GPU, the others did");
  EXPECT_TRUE(holds(some.remedy, "nvidia-smi")) << some.remedy;
  ranks[0].device = ranks[1].device = "cpu";
  EXPECT_EQ(gpu_users_finding(ranks, cuda, false).finding, "no rank has one: see \"placement\"");
  EXPECT_EQ(gpu_users_finding(ranks, {true, 0, "no driver"}, false).finding, "there is none (no driver)");
  EXPECT_EQ(gpu_users_finding(ranks, {true, 0, "no driver"}, false).status, Status::skipped);
  EXPECT_EQ(gpu_users_finding(ranks, {}, true).finding, "the ranks shall compute on the CPU (--device, --gpu_ids)");
}

TEST(GpuModels, ThatDifferAreAWarning) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(gpu_finding(ranks).finding, "H100");
  ranks[3].gpu = "A100";
  EXPECT_EQ(gpu_finding(ranks).status, Status::warning);
  EXPECT_EQ(gpu_finding(ranks).finding, "they differ: H100 (ranks 0, 1 on n1; rank 2 on n2), A100 (rank 3 on n2)");
}

TEST(GpuSharing, NamesTheRanksAndTheirHost) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(gpu_sharing_finding(ranks, false).status, Status::ok);
  ranks[3].uuid = ranks[2].uuid;
  const Check check = gpu_sharing_finding(ranks, false);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "ranks 2, 3 on n2 would compute on the same GPU (H100, 0000:02:00, GPU-2)");
  EXPECT_TRUE(holds(check.remedy, "--ntasks-per-node")) << check.remedy;
  EXPECT_EQ(gpu_sharing_finding(ranks, true).status, Status::ok);
  // One place of a host's bus is one GPU; the same place of another host is not.
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.uuid = "", rank.pci = "0000:0" + std::to_string(rank.rank % 2) + ":00";
  EXPECT_EQ(gpu_sharing_finding(ranks, false).status, Status::ok);
  ranks[1].pci = ranks[0].pci;
  EXPECT_EQ(gpu_sharing_finding(ranks, false).finding,
            "ranks 0, 1 on n1 would compute on the same GPU (H100, 0000:00:00)");
  // GPUs that do not tell who they are may be different ones; drivers are another check's.
  for (RankFacts& rank : ranks) rank.pci = "";
  ranks[3].driver = "570";
  EXPECT_EQ(gpu_sharing_finding(ranks, false).status, Status::ok);
}

TEST(GpuLibraries, ThatNcclRefusesFail) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(gpu_library_finding(ranks).finding, "CUDA 13.0, NCCL 2.28.9, driver 580.65, CUDA 13.0");
  ranks[3].cuda = "12.9";
  EXPECT_EQ(gpu_library_finding(ranks).status, Status::warning);
  EXPECT_EQ(gpu_library_finding(ranks).finding,
            "they differ: CUDA 13.0 (ranks 0, 1 on n1; rank 2 on n2), CUDA 12.9 (rank 3 on n2)");
  ranks[3].nccl = "2.27.3";
  EXPECT_EQ(gpu_library_finding(ranks).status, Status::failed);
  EXPECT_EQ(gpu_library_finding(ranks).finding,
            "the ranks use different versions of NCCL (2.28.9: ranks 0, 1 on n1; rank 2 on n2; 2.27.3: rank 3 on n2)");
  ranks = four_ranks();
  ranks[0].driver = "570.1, CUDA 12.8";
  EXPECT_EQ(gpu_library_finding(ranks).status, Status::failed);
  EXPECT_TRUE(holds(gpu_library_finding(ranks).finding, "570.1, CUDA 12.8: rank 0 on n1"));
}

TEST(GpuRuntime, ItsReasonIsTakenFromMessages) {
  EXPECT_EQ(runtime_reason("the GPU failed (cudaErrorECCUncorrectable: uncorrectable ECC error encountered, in "
                           "gpuStreamQuery): drl_doctor examines the node's GPUs; the last checkpoint is from before"),
            "cudaErrorECCUncorrectable: uncorrectable ECC error encountered");
  EXPECT_EQ(runtime_reason("no GPU memory for 256 KiB (1.00 KiB of 80.0 GiB are free): use fewer environments"),
            "no GPU memory for 256 KiB (1.00 KiB of 80.0 GiB are free)");
  EXPECT_EQ(runtime_reason("more indices than a grid has"), "more indices than a grid has");
}

TEST(GpuRuntime, FailuresAreNamedWithTheirRemedy) {
  EXPECT_EQ(runtime_finding("GPU kernel", {"", "", "", ""}, kHosts).finding, "right results on 4 GPUs");
  const std::string image = "cudaErrorNoKernelImageForDevice: no kernel image is available";
  const Check check = runtime_finding("GPU kernel", {"", image, "", image}, kHosts);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no right result: " + image + " (rank 1 on n1; rank 3 on n2)");
  EXPECT_TRUE(holds(check.remedy, "DRL_CUDA_ARCHITECTURES")) << check.remedy;
  const auto remedy = [](const std::string& reason) { return runtime_finding("x", {reason}, {"n1"}).remedy; };
  EXPECT_TRUE(holds(remedy("cudaErrorDevicesUnavailable: busy or unavailable"), "compute mode"));
  EXPECT_TRUE(holds(remedy("cudaErrorSystemNotReady: x"), "fabricmanager"));
  EXPECT_TRUE(holds(remedy("cudaErrorInsufficientDriver: x"), "driver is older"));
  EXPECT_TRUE(holds(remedy("cudaErrorMpsConnectionFailed: x"), "MPS"));
  EXPECT_TRUE(holds(remedy("cudaErrorInvalidDevice: x"), "nvidia-smi -L"));
  EXPECT_TRUE(holds(remedy("cudaErrorInvalidDeviceFunction: x"), "DRL_CUDA_ARCHITECTURES"));
  EXPECT_TRUE(holds(remedy("cudaErrorUnknown: x"), "/dev/nvidia-uvm"));
  EXPECT_TRUE(holds(remedy("no GPU memory for 1 B (0 B of 1 B are free)"), "other processes"));
  EXPECT_TRUE(holds(remedy("cudaErrorLaunchFailure: unspecified"), "dmesg | grep -i xid"));
  EXPECT_TRUE(holds(remedy("it did not end within 30 s"), "dmesg | grep -i xid"));
}

GpuHealth healthy() {
  return {.trouble = "", .others = 0, .pids = {}, .slowdowns = 0, .uncorrected = 0, .pending = 0, .worn_out = 0};
}

TEST(GpuHealth, IsNotKnownWithoutNvml) {
  const GpuHealth none{.trouble = "libnvidia-ml.so.1 is not found", .pids = {}};
  for (const Check& check : {processes_finding({none, none}, {"n1", "n1"}), memory_finding({none, none}, {"n1", "n1"}),
                             clocks_finding({none, none}, {"n1", "n1"})}) {
    EXPECT_EQ(check.status, Status::skipped);
    EXPECT_EQ(check.finding, "not known (libnvidia-ml.so.1 is not found)");
  }
  EXPECT_EQ(processes_finding({GpuHealth{}}, {"n1"}).finding, "not known (NVML does not tell it of this GPU)");
  EXPECT_EQ(memory_finding({none, healthy()}, {"n1", "n1"}).status, Status::ok) << "what is known of some counts";
}

TEST(GpuHealth, OtherProcesses) {
  GpuHealth busy = healthy();
  EXPECT_EQ(processes_finding({busy}, {"n1"}).finding, "no others");
  busy.others = 2, busy.pids = {4711, 12}, busy.others_bytes = 3LL << 29;
  const Check check = processes_finding({healthy(), busy}, {"n1", "n2"});
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "others compute there too: processes 4711, 12 with 1.50 GiB (rank 1 on n2)");
}

TEST(GpuHealth, MemoryErrors) {
  GpuHealth gpu = healthy();
  EXPECT_EQ(memory_finding({gpu}, {"n1"}).finding, "no uncorrected ECC errors");
  gpu.uncorrected = 2, gpu.pending = 1;
  EXPECT_EQ(memory_finding({healthy(), gpu}, {"n1", "n2"}).status, Status::warning);
  EXPECT_EQ(memory_finding({healthy(), gpu}, {"n1", "n2"}).finding,
            "2 uncorrected ECC errors and memory to be replaced at the next reset (rank 1 on n2)");
  gpu = healthy();
  gpu.worn_out = 1;
  EXPECT_EQ(memory_finding({gpu}, {"n1"}).status, Status::failed);
  EXPECT_EQ(memory_finding({gpu}, {"n1"}).finding, "memory rows could not be replaced (rank 0 on n1)");
  gpu.uncorrected = GpuHealth::kUnknown;  // ECC is off
  EXPECT_EQ(memory_finding({gpu}, {"n1"}).status, Status::failed);
}

// Bits of nvmlClocksEventReasons: idle 1, power cap 4, hardware 8, software heat 0x20, heat 0x40, power brake 0x80.
TEST(GpuHealth, ClocksAreHeldDownByFaults) {
  const auto check = [](int64_t bits) {
    GpuHealth gpu = healthy();
    gpu.slowdowns = bits;
    return clocks_finding({gpu}, {"n1"});
  };
  for (int64_t normal : {0, 1, 4, 2 | 4 | 16 | 256}) EXPECT_EQ(check(normal).status, Status::ok) << normal;
  EXPECT_EQ(check(4 | 0x20).status, Status::warning);
  EXPECT_EQ(check(4 | 0x20).finding, "held down by heat (rank 0 on n1)");
  EXPECT_EQ(check(0x48).finding, "held down by heat (rank 0 on n1)");
  EXPECT_EQ(check(0x88).finding, "held down by the power brake (rank 0 on n1)");
  EXPECT_EQ(check(0x08).finding, "held down by a hardware slowdown (rank 0 on n1)");
}

TEST(GpuSpeed, OneFarFromTheMedianIsNamed) {
  EXPECT_EQ(gpu_speed_finding({5}, {"n1"}).finding, "1 GPU");
  EXPECT_EQ(gpu_speed_finding({2.0, 2.2}, {"n1", "n1"}).finding, "1.00 to 1.10 of the median time");
  const Check check = gpu_speed_finding({2, 2, 2, 3}, kHosts);
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "that of rank 3 on n2 1.50 times slower than the median GPU in plain arithmetic");
}

TEST(PeerAccess, IsAskedBetweenTheGpusOfANode) {
  const std::vector<RankFacts> ranks = four_ranks();
  std::vector<PeerAccess> access = {{{"GPU-1"}, {}}, {{"GPU-0"}, {}}, {{"GPU-3"}, {}}, {{"GPU-2"}, {}}};
  EXPECT_EQ(peers_finding(access, ranks).finding, "the GPUs of a node reach each other directly");
  for (PeerAccess& one : access) one.out_of_reach = one.visible;
  EXPECT_EQ(peers_finding(access, ranks).finding, "none: all-reduces take the way through host memory");
  EXPECT_EQ(peers_finding(access, ranks).status, Status::ok) << "such GPUs there are";
  access[0].out_of_reach = access[1].out_of_reach = {};
  const Check check = peers_finding(access, ranks);
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "none between the GPUs of ranks 2 and 3 on n2");
  const Check unknown = peers_finding(std::vector<PeerAccess>(4), ranks);
  EXPECT_EQ(unknown.status, Status::skipped);
  EXPECT_EQ(unknown.finding, "not known (each rank sees its own GPU only; NCCL finds out)");
  EXPECT_EQ(peers_finding({{}, {}}, {ranks[0], ranks[2]}).finding, "1 GPU a node, no neighbour to reach");
}

TEST(GpuSums, WrongOnesFail) {
  EXPECT_EQ(sums_finding("GPU sums, all", {true, true, true, true}, kHosts).status, Status::ok);
  const Check check = sums_finding("GPU sums, all", {true, true, false, true}, kHosts);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "sums are wrong on rank 2 on n2");
}

TEST(GpuSums, SlowerThanPcieOrAnyNetworkIsAWarning) {
  const auto check = [](double seconds, bool within) {  // bus bandwidth 2^26 bytes / seconds
    return all_reduce_finding("GPU sums", {2, "", {{4, 3e-5}, {64 << 20, seconds}}}, gpu_limits(within));
  };
  EXPECT_EQ(check(0.06, true).status, Status::ok);        // 1.1 GB/s
  EXPECT_EQ(check(0.07, true).status, Status::warning);   // 0.96
  EXPECT_EQ(check(0.12, false).status, Status::ok);       // 0.56
  EXPECT_EQ(check(0.14, false).status, Status::warning);  // 0.48
  EXPECT_TRUE(holds(check(0.07, true).remedy, "slower than PCIe"));
  EXPECT_TRUE(holds(check(0.14, false).remedy, "NCCL network"));
}

}  // namespace
}  // namespace drl
