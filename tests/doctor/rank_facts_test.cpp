// Tests of the table of ranks.
#include "doctor/rank_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace drl {
namespace {

RankFacts rank_on(int rank, const std::string& host, int local_rank, const std::string& cpus) {
  RankFacts facts;
  facts.rank = rank;
  facts.host = host;
  facts.local_rank = local_rank;
  facts.cpus = cpus;
  facts.cpu_model = "EPYC";
  return facts;
}

TEST(RankTable, ConsecutiveRanksThatAreEqualShareARow) {
  EXPECT_EQ(table_of({rank_on(0, "n1", 0, "0"), rank_on(1, "n1", 1, "1"), rank_on(2, "n2", 0, "0-3")}),
            "  CPU  EPYC\n"
            "\n"
            "  ranks  host  local  device  cores  CPUs\n"
            "  0-1    n1    0-1    cpu     1      0-1\n"
            "  2      n2    0      cpu     1      0-3\n");
}

// Some launchers distribute ranks to nodes cyclically.
TEST(RankTable, RanksOfDifferentHostsHaveTheirOwnRows) {
  const std::string table = table_of({rank_on(0, "n2", 0, "0"), rank_on(1, "n1", 0, "0"), rank_on(2, "n2", 1, "1")});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 1 + 3);
}

TEST(RankTable, AFactThatDiffersIsAColumn) {
  std::vector<RankFacts> ranks = {rank_on(0, "n1", 0, "0"), rank_on(1, "n1", 1, "1")};
  ranks[0].gpu = ranks[1].gpu = "H200";
  ranks[0].uuid = "GPU-a", ranks[1].uuid = "GPU-b";
  EXPECT_EQ(table_of(ranks),
            "  GPU  H200\n"
            "  CPU  EPYC\n"
            "\n"
            "  ranks  host  local  device  cores  CPUs  UUID\n"
            "  0      n1    0      cpu     1      0     GPU-a\n"
            "  1      n1    1      cpu     1      1     GPU-b\n");
}

TEST(RankTable, SixtyFourEqualRanksNeedOneRowPerNode) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < 64; ++rank) ranks.push_back(rank_on(rank, "n" + std::to_string(rank / 8), rank % 8, "0"));
  const std::string table = table_of(ranks);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 1 + 8);
}

TEST(RankTable, FactsSurviveConversionToJson) {
  RankFacts facts = rank_on(3, "n1", 1, "4-7");
  facts.device = "cuda:1", facts.reference_blas = true;
  const auto again = nlohmann::json::parse(nlohmann::json(facts).dump()).get<RankFacts>();
  EXPECT_EQ(nlohmann::json(again), nlohmann::json(facts));
  EXPECT_EQ(again.rank, 3);
  EXPECT_EQ(again.device, "cuda:1");
}

TEST(RankFacts, ContainTheStateOfCraysGpuTransportLayer) {
  const auto text = [](std::optional<std::string> value) {
    return gtl_text(
        [&](const char* name) { return std::string(name) == "MPICH_GPU_SUPPORT_ENABLED" ? value : std::nullopt; });
  };
  EXPECT_EQ(text(std::nullopt), "");
  EXPECT_EQ(text("0"), "off (MPICH_GPU_SUPPORT_ENABLED=0)");
  EXPECT_EQ(text("1"), "on (MPICH_GPU_SUPPORT_ENABLED=1)");
}

}  // namespace
}  // namespace drl
