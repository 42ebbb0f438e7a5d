// What the doctor says of GPUs.
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

Check finding(const std::vector<RankFacts>& ranks) { return gpus_finding(ranks, {true, 2, ""}, false); }

TEST(Gpus, HaveAllRanksOrNone) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(finding(ranks).status, Status::ok);
  EXPECT_EQ(finding(ranks).finding, "4 ranks, each with a GPU of its own: NCCL 2.28.9, driver 580.65, CUDA 13.0");
  ranks[2].device = ranks[3].device = "cpu";
  EXPECT_EQ(finding(ranks).status, Status::failed);
  EXPECT_EQ(finding(ranks).finding, "ranks 2, 3 on n2 found no GPU, the others did");
  EXPECT_TRUE(holds(finding(ranks).remedy, "nvidia-smi"));
  ranks[0].device = ranks[1].device = "cpu";
  EXPECT_EQ(finding(ranks).finding, "no rank has one: see \"placement\"");
  EXPECT_EQ(gpus_finding(ranks, {true, 0, "no driver"}, false).finding, "there is none (no driver)");
  EXPECT_EQ(gpus_finding(ranks, {true, 0, "no driver"}, false).status, Status::skipped);
  EXPECT_EQ(gpus_finding(ranks, {}, true).finding, "the ranks shall compute on the CPU (--device, --gpu_ids)");
}

TEST(Gpus, ThatAreSharedAreNamedWithRanksAndHost) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[3].uuid = ranks[2].uuid;
  EXPECT_EQ(finding(ranks).status, Status::failed);
  EXPECT_EQ(finding(ranks).finding, "ranks 2, 3 on n2 would compute on the same GPU (H100, 0000:02:00, GPU-2)");
  EXPECT_TRUE(holds(finding(ranks).remedy, "--ntasks-per-node"));
  // One place of a host's bus is one GPU; the same place of another host is not.
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.uuid = "", rank.pci = "0000:0" + std::to_string(rank.rank % 2) + ":00";
  EXPECT_EQ(finding(ranks).status, Status::ok);
  ranks[1].pci = ranks[0].pci;
  EXPECT_EQ(finding(ranks).finding, "ranks 0, 1 on n1 would compute on the same GPU (H100, 0000:00:00)");
  // GPUs that do not tell who they are may be different ones.
  for (RankFacts& rank : ranks) rank.pci = "";
  EXPECT_EQ(finding(ranks).status, Status::ok);
}

TEST(Gpus, LibrariesThatNcclRefusesFail) {
  std::vector<RankFacts> ranks = four_ranks();
  ranks[3].nccl = "2.27.3";
  EXPECT_EQ(finding(ranks).status, Status::failed);
  EXPECT_EQ(
      finding(ranks).finding,
      "the ranks use different versions of NCCL (2.28.9 (ranks 0, 1 on n1; rank 2 on n2), 2.27.3 (rank 3 on n2))");
  ranks = four_ranks();
  ranks[0].driver = "570.1, CUDA 12.8";
  EXPECT_EQ(finding(ranks).status, Status::failed);
  EXPECT_TRUE(holds(finding(ranks).finding, "570.1, CUDA 12.8 (rank 0 on n1)"));
}

TEST(GpuRuntime, FailuresAreNamedWithTheirRemedy) {
  EXPECT_EQ(kernel_finding({"", "", "", ""}, kHosts).finding, "right results on 4 GPUs");
  const std::string image = "cudaErrorNoKernelImageForDevice: no kernel image is available";
  const Check check = kernel_finding({"", image, "", image}, kHosts);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no right result: " + image + " (rank 1 on n1; rank 3 on n2)");
  EXPECT_TRUE(holds(check.remedy, "DRL_CUDA_ARCHITECTURES")) << check.remedy;
  const auto remedy = [](const std::string& reason) { return kernel_finding({reason}, {"n1"}).remedy; };
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

}  // namespace
}  // namespace drl
