// Tests the doctor's findings about GPUs.
#include <gtest/gtest.h>

#include "doctor/findings.hpp"
#include "finding.hpp"

namespace drl {
namespace {

const std::vector<std::string> kHosts = {"n1", "n1", "n2", "n2"};

std::vector<RankFacts> four_ranks() {
  std::vector<RankFacts> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    RankFacts& facts = ranks[static_cast<size_t>(rank)];
    facts.rank = rank;
    facts.host = kHosts[static_cast<size_t>(rank)];
    facts.device = "cuda:" + std::to_string(rank % 2);
    facts.gpu = "H100", facts.uuid = "GPU-" + std::to_string(rank), facts.pci = "0000:0" + std::to_string(rank) + ":00";
    facts.visible_gpus = 2, facts.cores = 8, facts.device_order = "PCI_BUS_ID";
    facts.driver = "580.65, CUDA 13.0", facts.cuda = "13.0", facts.nccl = "2.28.9";
  }
  return ranks;
}

Check finding(const std::vector<RankFacts>& ranks) { return gpus_finding(ranks, false); }

// The ranks of these nodes have no GPU for this reason.
std::vector<RankFacts> without_gpus(const std::vector<std::string>& nodes, const std::string& trouble,
                                    const std::string& remedy = "") {
  std::vector<RankFacts> ranks = four_ranks();
  for (RankFacts& rank : ranks)
    if (std::ranges::count(nodes, rank.host))
      rank.device = "cpu", rank.cuda_trouble = trouble, rank.cuda_remedy = remedy;
  return ranks;
}

TEST(Gpus, AreUsedByAllRanksOrNone) {
  std::vector<RankFacts> ranks = four_ranks();
  expect_finding(finding(ranks), Status::ok, {"4 ranks", "NCCL 2.28.9", "driver 580.65, CUDA 13.0"});
  ranks = without_gpus({"n2"}, "no driver");
  expect_finding(finding(ranks), Status::failed, {"no driver (ranks 2, 3 on n2)"},
                 {"nvidia-smi on n2", "--exclude=n2"});
  ranks = without_gpus({"n1", "n2"}, "");  // the placement failed
  expect_finding(finding(ranks), Status::skipped, {"\"placement\""});
  ranks = without_gpus({"n1", "n2"}, "no driver");
  expect_finding(finding(ranks), Status::skipped, {"no GPU", "no driver"});
  ranks = without_gpus({"n1", "n2"}, "old driver", "update it");
  EXPECT_EQ(finding(ranks).status, Status::warning);
  EXPECT_EQ(finding(ranks).remedy, "update it");
  expect_finding(gpus_finding(ranks, true), Status::skipped, {"--device", "--gpu_ids"});
}

// Rank 0 may be on a node whose driver works, or on the one whose driver does not.
TEST(Gpus, ADriverThatFailsOnOneNodeIsNamed) {
  for (const auto& [node, which] : {std::pair{"n1", "ranks 0, 1 on n1"}, {"n2", "ranks 2, 3 on n2"}}) {
    expect_finding(finding(without_gpus({node}, "CUDA 12.2 is too old", "update the driver")), Status::failed,
                   {"CUDA 12.2 is too old", which}, {"update the driver", std::string("--exclude=") + node});
  }
  // Neither node has a GPU, for different reasons.
  std::vector<RankFacts> ranks = without_gpus({"n1", "n2"}, "no driver");
  ranks[2].cuda_trouble = ranks[3].cuda_trouble = "CUDA 12.2 is too old";
  ranks[2].cuda_remedy = ranks[3].cuda_remedy = "update the driver";
  expect_finding(finding(ranks), Status::warning,
                 {"no driver (ranks 0, 1 on n1)", "CUDA 12.2 is too old (ranks 2, 3 on n2)"});
  EXPECT_EQ(finding(ranks).remedy, "update the driver");
}

TEST(Gpus, OfOtherVendorsAreNamed) {
  std::vector<RankFacts> ranks = without_gpus({"n1", "n2"}, "no GPU driver");
  EXPECT_EQ(other_gpus_text(ranks), "");
  for (RankFacts& rank : ranks) rank.other_gpus = "AMD";
  expect_finding(finding(ranks), Status::skipped, {"AMD's (ranks 0, 1 on n1; ranks 2, 3 on n2)", "NVIDIA"});
  EXPECT_EQ(finding(ranks).remedy, "") << "no skipped check has a remedy";
  EXPECT_EQ(other_gpus_text(ranks), finding(ranks).finding);
  ranks = without_gpus({"n2"}, "no GPU driver");
  ranks[2].other_gpus = ranks[3].other_gpus = "Intel";
  expect_finding(finding(ranks), Status::failed, {"Intel GPUs", "ranks 2, 3 on n2"}, {"NVIDIA", "--exclude=n2"});
  EXPECT_EQ(finding(ranks).remedy.find("nvidia-smi"), std::string::npos) << "it does not exist there";
  // Each reason has its remedy, and appears once.
  ranks[1].device = "cpu", ranks[1].cuda_trouble = "CUDA 12.2 is too old", ranks[1].cuda_remedy = "update the driver";
  expect_mentions(finding(ranks).remedy, {"update the driver; use nodes with NVIDIA GPUs", "--exclude=n1,n2"});
}

TEST(Gpus, FailIfTwoRanksShareOne) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[3].uuid = ranks[2].uuid;
  expect_finding(finding(ranks), Status::failed, {"ranks 2, 3 on n2", "H100, 0000:02:00, GPU-2"},
                 {"--ntasks-per-node"});
  // Without UUIDs, a GPU is identified by its host and PCI address.
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.uuid = "", rank.pci = "0000:0" + std::to_string(rank.rank % 2) + ":00";
  EXPECT_EQ(finding(ranks).status, Status::ok);
  ranks[1].pci = ranks[0].pci;
  expect_finding(finding(ranks), Status::failed, {"ranks 0, 1 on n1", "H100, 0000:00:00"});
  // GPUs without UUID and PCI address are assumed to be different.
  for (RankFacts& rank : ranks) rank.pci = "";
  EXPECT_EQ(finding(ranks).status, Status::ok);
}

TEST(Gpus, FailIfCublasOrNcclCannotBeUsed) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[2].gpu_trouble = ranks[3].gpu_trouble = "NCCL cannot be used (libnccl.so.2: no such file): load the module";
  expect_finding(finding(ranks), Status::failed, {"libnccl.so.2: no such file", "ranks 2, 3 on n2"});
  EXPECT_EQ(finding(ranks).remedy, "load the module");
}

TEST(Gpus, FailIfVersionsOfNcclOrDriverDiffer) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[3].nccl = "2.27.3";
  expect_finding(finding(ranks), Status::failed,
                 {"NCCL", "2.28.9 (ranks 0, 1 on n1; rank 2 on n2)", "2.27.3 (rank 3 on n2)"});
  ranks = four_ranks();
  ranks[0].driver = "570.1, CUDA 12.8";
  expect_finding(finding(ranks), Status::failed, {"570.1, CUDA 12.8 (rank 0 on n1)"});
}

TEST(GpuSetup, OneCorePerRankFailsOnSeveralNodes) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(gpu_setup_finding(ranks).status, Status::ok);
  ranks[2].cores = ranks[3].cores = 1;
  expect_finding(gpu_setup_finding(ranks), Status::failed, {"n2", "one core"}, {"srun --cpus-per-task="});
  for (RankFacts& rank : ranks) rank.host = "n1";  // NCCL sends nothing through a network
  EXPECT_EQ(gpu_setup_finding(ranks).status, Status::ok);
}

TEST(GpuSetup, HiddenGpusAreAWarning) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[2].visible_gpus = 1;
  EXPECT_EQ(gpu_setup_finding(ranks).status, Status::ok) << "rank 3 sees both GPUs";
  ranks[3].visible_gpus = 1;
  expect_finding(gpu_setup_finding(ranks), Status::warning, {"2 ranks on n2", "NVLink"}, {"srun --gpu-bind=none"});
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.visible_gpus = 1, rank.host = "n" + std::to_string(rank.rank);
  EXPECT_EQ(gpu_setup_finding(ranks).status, Status::ok) << "nodes with one GPU each";
}

TEST(GpuSetup, AnotherOrderOfDevicesIsAWarning) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[3].device_order = "FASTEST_FIRST";
  expect_finding(gpu_setup_finding(ranks), Status::warning, {"FASTEST_FIRST on n2", "PCI_BUS_ID"},
                 {"unset CUDA_DEVICE_ORDER"});
}

TEST(GpuSetup, AllProblemsAreNamedTogether) {
  std::vector<RankFacts> ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.cores = 1, rank.visible_gpus = 1, rank.device_order = "FASTEST_FIRST";
  expect_finding(gpu_setup_finding(ranks), Status::failed, {"one core", "NVLink", "FASTEST_FIRST"},
                 {"--cpus-per-task", "--gpu-bind=none", "unset CUDA_DEVICE_ORDER"});
}

TEST(GpuKernel, EachFailureHasItsRemedy) {
  expect_finding(kernel_finding({"", "", "", ""}, kHosts), Status::ok, {"4 GPUs"});
  const std::string image = "cudaErrorNoKernelImageForDevice: no kernel image is available";
  expect_finding(kernel_finding({"", image, "", image}, kHosts), Status::failed,
                 {image + " (rank 1 on n1; rank 3 on n2)"}, {"DRL_CUDA_ARCHITECTURES"});
  const auto remedy = [](const std::string& reason) { return kernel_finding({reason}, {"n1"}).remedy; };
  expect_mentions(remedy("cudaErrorDevicesUnavailable: busy or unavailable"), {"nvidia-smi -q -d COMPUTE"});
  expect_mentions(remedy("cudaErrorSystemNotReady: x"), {"nvidia-fabricmanager"});
  expect_mentions(remedy("cudaErrorInsufficientDriver: x"), {"older CUDA module", "update the driver"});
  expect_mentions(remedy("cudaErrorMpsConnectionFailed: x"), {"CUDA_MPS_PIPE_DIRECTORY"});
  expect_mentions(remedy("cudaErrorInvalidDevice: x"), {"nvidia-smi -L"});
  expect_mentions(remedy("cudaErrorInvalidDeviceFunction: x"), {"DRL_CUDA_ARCHITECTURES"});
  expect_mentions(remedy("cudaErrorUnknown: x"), {"/dev/nvidia-uvm"});
  expect_mentions(remedy("no GPU memory for 1 B (0 B of 1 B are free)"), {"other processes"});
  expect_mentions(remedy("cudaErrorLaunchFailure: unspecified"), {"dmesg | grep -i xid"});
  expect_mentions(remedy("the kernel did not finish within 30 s"), {"dmesg | grep -i xid"});
}

}  // namespace
}  // namespace drl
