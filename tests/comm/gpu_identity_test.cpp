#include "comm/gpu_identity.hpp"

#include <gtest/gtest.h>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "comm/patience.hpp"
#include "comm/roll_call.hpp"
#include "comm/wire.hpp"

namespace drl {
namespace {

// Returns two ranks on each of two hosts, without problems.
std::vector<GpuIdentity> good_ranks() {
  const GpuIdentity common{.host = "",
                           .gpu = "H200",
                           .uuid = "",
                           .pci = "",
                           .driver = "580.65.06, CUDA 13.0",
                           .nccl = "2.28.9",
                           .build = "0.1.0 (808f62d)"};
  std::vector<GpuIdentity> ranks(4, common);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].host = rank < 2 ? "node1" : "node2";
    ranks[rank].uuid = "GPU-" + std::to_string(rank);
    ranks[rank].pci = "0000:0" + std::to_string(rank % 2) + ":00";  // the same on both hosts
  }
  return ranks;
}

std::string refused(const std::vector<GpuIdentity>& ranks, bool may_share = false) {
  return error_from<UsageError>([&] { check_identities(ranks, may_share); });
}

TEST(CheckIdentities, AcceptsMatchingRanks) {
  EXPECT_EQ(refused(good_ranks()), "no error");
  EXPECT_EQ(refused({good_ranks()[0]}), "no error");
}

TEST(CheckIdentities, ReportsRanksOnOneGpu) {
  std::vector<GpuIdentity> ranks = good_ranks();
  ranks[3].uuid = ranks[2].uuid, ranks[3].pci = ranks[2].pci;
  expect_mentions(refused(ranks), {"ranks 2, 3 on node2", "same GPU", "(H200, 0000:00:00, GPU-2)",
                                   "srun --ntasks-per-node", "srun --gpu-bind=none", "CUDA_VISIBLE_DEVICES"});
  EXPECT_EQ(refused(ranks, true), "no error");
}

TEST(CheckIdentities, RecognisesAGpuByUuidOrPciAddress) {
  std::vector<GpuIdentity> containers = good_ranks();  // 0 and 3: containers of one machine
  containers[3].uuid = containers[0].uuid;
  expect_mentions(refused(containers), {"rank 0 on node1; rank 3 on node2", "same GPU"});
  std::vector<GpuIdentity> parts = good_ranks();  // MIG instances of one GPU, which NCCL refuses
  parts[1].pci = parts[0].pci;
  expect_mentions(refused(parts), {"ranks 0, 1 on node1", "same GPU"});
  std::vector<GpuIdentity> nameless = good_ranks();
  for (GpuIdentity& rank : nameless) rank.uuid = "";
  EXPECT_EQ(refused(nameless), "no error");
}

TEST(FirstRanksOfGpus, AreOneForEachGpu) {
  EXPECT_EQ(first_ranks_of_gpus(good_ranks()), (std::vector<size_t>{0, 1, 2, 3}));
  std::vector<GpuIdentity> shared = good_ranks();
  shared[1].uuid = "", shared[1].pci = shared[0].pci;         // the same GPU by its PCI address
  shared[3].uuid = shared[0].uuid, shared[3].host = "other";  // and by its UUID, in another container
  EXPECT_EQ(first_ranks_of_gpus(shared), (std::vector<size_t>{0, 2}));
}

TEST(CheckIdentities, ReportsRanksThatDiffer) {
  std::vector<GpuIdentity> ranks = good_ranks();
  ranks[1].build = "0.1.0 (cf3dcff)";
  ranks[2].nccl = ranks[3].nccl = "2.27.3";
  ranks[3].driver = "";
  expect_mentions(refused(ranks), {"builds", "0.1.0 (808f62d) (rank 0 on node1; ranks 2, 3 on node2)",
                                   "0.1.0 (cf3dcff) (rank 1 on node1)"});
  ranks[1].build = ranks[0].build;
  expect_mentions(refused(ranks),
                  {"NCCL", "2.28.9 (ranks 0, 1 on node1)", "2.27.3 (ranks 2, 3 on node2)", "LD_LIBRARY_PATH"});
  ranks[2].nccl = ranks[3].nccl = "2.28.9";
  expect_mentions(refused(ranks), {"drivers", "580.65.06, CUDA 13.0 (ranks 0, 1 on node1; rank 2 on node2)",
                                   "unknown (rank 3 on node2)", "sbatch --exclude"});
}

TEST(GpuIdentity, SurvivesTheConversionToJson) {
  const GpuIdentity identity = good_ranks()[3];
  const GpuIdentity copy = from_wire<GpuIdentity>(to_wire(identity));
  EXPECT_EQ(copy.host, "node2");
  EXPECT_EQ(copy.gpu, identity.gpu);
  EXPECT_EQ(copy.uuid, identity.uuid);
  EXPECT_EQ(copy.pci, identity.pci);
  EXPECT_EQ(copy.driver, identity.driver);
  EXPECT_EQ(copy.nccl, identity.nccl);
  EXPECT_EQ(copy.build, identity.build);
}

// The texts are those of a proprietary and an open kernel module.
TEST(GpuIdentity, ShowsVersionsAsTextWithDots) {
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:53:14 UTC 2024\n"
                           "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"),
            "535.161.08");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"),
            "580.65.06");
  EXPECT_EQ(driver_version(""), "");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(21903), "2.19.3");
  EXPECT_EQ(runtime_version_text(13000, kNvidia), "13.0");
  EXPECT_EQ(runtime_version_text(12090, kNvidia), "12.9");
  EXPECT_EQ(runtime_version_text(50221153, kAmd), "5.2");
  EXPECT_EQ(runtime_version_text(60443482, kAmd), "6.4");
}

TEST(RanksText, GroupsByHostAndShortens) {
  EXPECT_EQ(ranks_text({3}, {}), "rank 3");
  EXPECT_EQ(ranks_text({0, 1, 2, 4, 6, 7}, std::vector<std::string>(8, "a")), "ranks 0-2, 4, 6, 7 on a");
  EXPECT_EQ(ranks_text({0, 1, 2}, {"a", "b", "a"}), "ranks 0, 2 on a; rank 1 on b");
  EXPECT_EQ(ranks_text({0, 1, 2, 3, 4, 5, 6}, {"a", "b", "c", "d", "e", "f", "g"}),
            "rank 0 on a; rank 1 on b; rank 2 on c; rank 3 on d; rank 4 on e; ranks on 2 more hosts");
}

// The time between two calls counts for at most a quarter of a second.
TEST(Patience, DoesNotCountSuspensions) {
  using std::chrono::hours, std::chrono::milliseconds;
  const Clock::time_point start{};
  Patience patience(start);
  EXPECT_DOUBLE_EQ(patience.seconds(start + milliseconds(100)), 0.1);
  EXPECT_DOUBLE_EQ(patience.seconds(start + milliseconds(300)), 0.3);
  EXPECT_DOUBLE_EQ(patience.seconds(start + hours(5)), 0.55);
  EXPECT_DOUBLE_EQ(patience.seconds(start + hours(5) + milliseconds(50)), 0.6);
}

// With --distribution=cyclic, for example, the ranks of a host are not consecutive.
TEST(Groups, AreOrderedByTheirFirstRank) {
  const std::vector<Group> groups = groups_of({"n1", "n2", "n1", "n2"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].text, "n2");
  EXPECT_EQ(groups[1].ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(values_with_ranks({"A", "", "B", "A"}, {"n1", "n1", "n2", "n2"}),
            "A (rank 0 on n1; rank 3 on n2), B (rank 2 on n2)");
  EXPECT_EQ(values_with_ranks({"A", "B", "C", "D", "E", "F"}, {}),
            "A (rank 0), B (rank 1), C (rank 2), D (rank 3), E (rank 4), F (rank 5)");
  EXPECT_EQ(values_with_ranks({"A", "B", "C", "D", "E", "F", "G"}, {}),
            "A (rank 0), B (rank 1), C (rank 2), D (rank 3), E (rank 4), 2 more values");
}

}  // namespace
}  // namespace drl
