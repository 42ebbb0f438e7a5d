// Times and limits of the doctor's all-reduces.
#include "doctor/all_reduce.hpp"

#include <gtest/gtest.h>

#include "finding.hpp"

namespace drl {
namespace {

using Gpus = std::vector<std::string>;

TEST(AllReduce, BusBandwidthCountsTheDataThatEachRankMoves) {
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 2), 1000);  // 2 (n - 1) / n = 1
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 4), 1500);
}

TEST(AllReduce, OnCpusWarnsOnlyIfItIsVerySlow) {
  const auto check = [](const AllReduceTimes& times) { return all_reduce_finding(times, host_limits()); };
  const AllReduceTimes good{2, "n2", {{4, 3e-6}, {64 << 20, 0.1}}};
  expect_finding(check(good), Status::ok, {"2 ranks", "4 B in 3.0 us", "64.0 MiB in 100.0 ms", "0.67 GB/s", "n2"});
  EXPECT_EQ(check(good).remedy, "");
  const AllReduceTimes slow{2, "", {{4, 3e-6}, {4 << 20, 0.05}}};  // 84 MB/s
  expect_finding(check(slow), Status::warning, {}, {"gigabit Ethernet"});
  const AllReduceTimes late{2, "", {{4, 0.04}, {64 << 20, 0.1}}};
  EXPECT_EQ(check(late).status, Status::warning);
}

TEST(AllReduce, TheSlowestNodeCounts) {
  const AllReduceTimes fast{2, "", {{4, 1}, {100, 1e-3}}}, slow{2, "", {{4, 1e-6}, {100, 2e-3}}}, none;
  const AllReduceTimes worst = slowest({fast, fast, slow, slow, none}, {"n1", "n1", "n2", "n2", "n3"});
  EXPECT_EQ(worst.slowest_host, "n2");
  EXPECT_EQ(worst.times.back().seconds, 2e-3);
  EXPECT_EQ(slowest({fast, fast}, {"n1", "n2"}).slowest_host, "") << "all ranks have measured together";
  EXPECT_EQ(slowest({fast, fast}, {"n1", "n1"}).slowest_host, "") << "there is only one node";
}

// The names are those that CUDA reports. The numbers are NCCL's bus bandwidths in GB/s over NVLink on healthy nodes of
// eight GPUs: A100 230 (github.com/NVIDIA/nccl/issues/527), H100 480 (nccl-tests/issues/212), H200 475
// (nccl-tests/issues/272), H800 215 (nccl/issues/1374), B200 830 (nccl/issues/1807). Two V100 attain 22 of the 25 GB/s
// of their one link.
TEST(GpuLimits, NvlinkAtOneHundredthOfItsSpeedIsAWarning) {
  const auto status = [](const std::string& gpu, double speed) {
    const AllReduceTimes times{2, "", {{4, 2e-5}, {64 << 20, (64 << 20) / (1e9 * speed)}}};
    return all_reduce_finding(times, gpu_limits({gpu, gpu})).status;
  };
  for (const auto& [gpu, speed] : {std::pair{"Tesla V100-SXM2-16GB", 22.0},
                                   {"NVIDIA A100-SXM4-40GB", 230.0},
                                   {"NVIDIA A100-SXM-64GB", 230.0},
                                   {"NVIDIA H100 80GB HBM3", 480.0},
                                   {"NVIDIA H200", 475.0},
                                   {"NVIDIA H800", 215.0},
                                   {"NVIDIA GH200 120GB", 120.0},
                                   {"NVIDIA B200", 830.0}}) {
    EXPECT_EQ(status(gpu, speed), Status::ok) << gpu;
    EXPECT_EQ(status(gpu, speed / 3), Status::ok) << gpu << ": two of four GPUs have a third of the links or more";
    EXPECT_EQ(status(gpu, speed / 100), Status::warning) << gpu;
  }
}

// Bus bandwidths over PCIe: 28 GB/s with eight RTX 5090 (nccl/issues/1639), 20 GB/s with several pairs of A100 cards
// (nccl-tests/issues/178), and 3.9 GB/s through host memory (nccl/issues/384).
TEST(GpuLimits, OtherModelsAreAssumedToUsePcie) {
  for (const char* gpu :
       {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe",
        "NVIDIA A40", "Tesla T4", "NVIDIA GeForce RTX 5090", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "unknown"}) {
    EXPECT_LT(gpu_limits({gpu}).bandwidth, 3.9e9 / 2) << gpu;
    EXPECT_GT(gpu_limits({gpu}).bandwidth, 0.28e9) << gpu << ": a hundredth of the bandwidth of eight cards";
    expect_mentions(gpu_limits({gpu}).remedy, {"PCIe", "nvidia-smi topo -m"});
  }
}

TEST(GpuLimits, TheSlowestModelCounts) {
  EXPECT_EQ(gpu_limits({"NVIDIA H200", "NVIDIA A40"}).bandwidth, gpu_limits({"NVIDIA A40"}).bandwidth);
  EXPECT_EQ(gpu_limits({"NVIDIA H200", "NVIDIA A40"}, "Slingshot").bandwidth, gpu_limits({"NVIDIA A40"}).bandwidth);
}

// Limits are a quarter of one adapter's rate, 200 Gb/s, 100 Gb/s (EDR), 25 Gb/s or 10 Gb/s, minus protocol overhead.
TEST(GpuLimits, AcrossNodesTheFabricCounts) {
  const auto limit = [](const std::string& fabric) { return gpu_limits({"NVIDIA H200"}, fabric).bandwidth / 1e9; };
  EXPECT_NEAR(limit("Slingshot"), 200 / 8 / 4.0, 0.5);
  EXPECT_NEAR(limit("InfiniBand"), 100 / 8 / 4.0, 0.5);
  EXPECT_NEAR(limit("RoCE"), 25 / 8.0 / 4, 0.1);
  EXPECT_NEAR(limit("Ethernet"), 10 / 8.0 / 4, 0.05);
  EXPECT_NEAR(limit("EFA"), 6 / 4.0, 0.1);  // the bandwidth of 32 nodes: github.com/NVIDIA/nccl/issues/235
  EXPECT_EQ(limit("something new"), limit("Ethernet"));
  expect_mentions(gpu_limits({"NVIDIA H200"}, "Slingshot").remedy, {"\"NCCL network\"", "NCCL_SOCKET_IFNAME"});
}

}  // namespace
}  // namespace drl
