// What all-reduces took, and what is too slow.
#include "doctor/all_reduce.hpp"

#include <gtest/gtest.h>

namespace drl {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Gpus = std::vector<std::string>;

TEST(AllReduce, BusBandwidthCountsWhatEachRankMoves) {
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 2), 1000);  // 2 (n - 1) / n = 1
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 4), 1500);
}

TEST(AllReduce, OnTheHostOnlyAbsurdFiguresAreWorthAWarning) {
  const auto check = [](const AllReduceTimes& times) { return all_reduce_finding(times, host_limits()); };
  const AllReduceTimes good{2, "n2", {{4, 3e-6}, {64 << 20, 0.1}}};
  EXPECT_EQ(check(good).status, Status::ok);
  EXPECT_EQ(check(good).finding,
            "2 ranks, sums right: 4 B in 3.0 us, 64.0 MiB in 100.0 ms, bus bandwidth 0.67 GB/s (slowest node: n2)");
  EXPECT_EQ(check(good).remedy, "");
  const AllReduceTimes slow{2, "", {{4, 3e-6}, {4 << 20, 0.05}}};  // 84 MB/s
  EXPECT_EQ(check(slow).status, Status::warning);
  EXPECT_TRUE(holds(check(slow).remedy, "gigabit Ethernet"));
  const AllReduceTimes late{2, "", {{4, 0.04}, {64 << 20, 0.1}}};
  EXPECT_EQ(check(late).status, Status::warning);
}

TEST(AllReduce, OfNodesTheSlowestCounts) {
  const AllReduceTimes fast{2, "", {{4, 1}, {100, 1e-3}}}, slow{2, "", {{4, 1e-6}, {100, 2e-3}}}, none;
  const AllReduceTimes worst = slowest({fast, fast, slow, slow, none}, {"n1", "n1", "n2", "n2", "n3"});
  EXPECT_EQ(worst.slowest_host, "n2");
  EXPECT_EQ(worst.times.back().seconds, 2e-3);
  EXPECT_EQ(slowest({fast, fast}, {"n1", "n2"}).slowest_host, "") << "all have measured together";
  EXPECT_EQ(slowest({fast, fast}, {"n1", "n1"}).slowest_host, "") << "there is one only";
}

// Names as CUDA gives them, with what NCCL attains on healthy nodes (bus bandwidth, GB/s): NVLink of 8 A100 230
// (github.com/NVIDIA/nccl/issues/527), of 8 H100 480 (nccl-tests/issues/212), of 8 H200 475 (nccl-tests/issues/272), of
// 8 H800 215 (nccl/issues/1374), of 8 B200 830 (nccl/issues/1807); of two V100 by one link 22 of its 25.
TEST(GpuLimits, AnNvlinkNodeAtOneHundredthOfItsSpeedIsAWarning) {
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

// By PCIe: 8 RTX 5090 28 (nccl/issues/1639), A100 cards of several pairs 20 (nccl-tests/issues/178), host memory 3.9
// (nccl/issues/384).
TEST(GpuLimits, CardsGoByPcie) {
  for (const char* gpu :
       {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe",
        "NVIDIA A40", "Tesla T4", "NVIDIA GeForce RTX 5090", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "unknown"}) {
    EXPECT_LT(gpu_limits({gpu}).bandwidth, 3.9e9 / 2) << gpu;
    EXPECT_GT(gpu_limits({gpu}).bandwidth, 0.28e9) << gpu << ": a hundredth of what eight attain";
    EXPECT_TRUE(holds(gpu_limits({gpu}).remedy, "slow PCIe attains: look for the GPUs' links")) << gpu;
  }
}

TEST(GpuLimits, OfSeveralModelsTheSlowestCounts) {
  EXPECT_EQ(gpu_limits({"NVIDIA H200", "NVIDIA A40"}).bandwidth, gpu_limits({"NVIDIA A40"}).bandwidth);
  EXPECT_EQ(gpu_limits({"NVIDIA H200", "NVIDIA A40"}, "Slingshot").bandwidth, gpu_limits({"NVIDIA A40"}).bandwidth);
}

// A quarter of one adapter's rate: 200 Gb/s, 100 Gb/s (EDR), 25 Gb/s, 10 Gb/s, less what protocols take.
TEST(GpuLimits, AcrossNodesTheFabricCounts) {
  const auto limit = [](const std::string& fabric) { return gpu_limits({"NVIDIA H200"}, fabric).bandwidth / 1e9; };
  EXPECT_NEAR(limit("Slingshot"), 200 / 8 / 4.0, 0.5);
  EXPECT_NEAR(limit("InfiniBand"), 100 / 8 / 4.0, 0.5);
  EXPECT_NEAR(limit("RoCE"), 25 / 8.0 / 4, 0.1);
  EXPECT_NEAR(limit("Ethernet"), 10 / 8.0 / 4, 0.05);
  EXPECT_NEAR(limit("EFA"), 6 / 4.0, 0.1);  // what 32 nodes attain: github.com/NVIDIA/nccl/issues/235
  EXPECT_EQ(limit("something new"), limit("Ethernet"));
  EXPECT_TRUE(holds(gpu_limits({"NVIDIA H200"}, "Slingshot").remedy, "NCCL network"));
}

}  // namespace
}  // namespace drl
