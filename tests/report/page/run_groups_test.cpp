#include "report/page/run_groups.hpp"

#include <gtest/gtest.h>

#include "report/page/tables.hpp"
#include "runs.hpp"

namespace drl {
namespace {

using test::record_of;

TEST(RunGroups, RunsThatDifferOnlyInTheirSeedShareAGroup) {
  std::vector<RunRecord> runs;
  for (const char* gamma : {"0.9", "0.99"})
    for (const char* seed : {"0", "1", "2"}) runs.push_back(record_of({1}, {{"ppo.gamma", gamma}, {"seed", seed}}));
  std::swap(runs[0], runs[4]);
  const std::vector<RunGroup> groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].label, "ppo.gamma 0.99");
  EXPECT_EQ(groups[0].runs, (std::vector<const RunRecord*>{&runs[0], &runs[3], &runs[5]}));
  EXPECT_EQ(groups[0].values("seed"), (std::vector<std::string>{"1", "0", "2"}));
  EXPECT_EQ(groups[1].label, "ppo.gamma 0.9");
  EXPECT_EQ(differing_options(groups), (std::vector<std::string>{"ppo.gamma", "seed"}));
}

TEST(RunGroups, OptionsWithoutEffectOnResultsDoNotSeparateRuns) {
  const std::vector<RunRecord> runs = {record_of({1}, {{"max_iterations", "10"}, {"num_envs", "8"}}),
                                       record_of({1}, {{"max_iterations", "20"}, {"num_envs", "8"}})};
  const std::vector<RunGroup> groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].label, "Cart");
  EXPECT_EQ(differing_options(groups), std::vector<std::string>{"max_iterations"});
  EXPECT_EQ(common_options(groups), (std::map<std::string, std::string>{{"num_envs", "8"}, {"ranks", "1"}}));
}

TEST(RunGroups, RanksAndMissingOptionsSeparateRuns) {
  std::vector<RunRecord> runs = {record_of({1}), record_of({1}), record_of({1}, {{"shards", ""}})};
  runs[1].world_size = 4;
  const std::vector<RunGroup> groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].label, "ranks 1, shards not set");
  EXPECT_EQ(groups[1].label, "ranks 4, shards not set");
  EXPECT_EQ(groups[2].label, "ranks 1, shards \"\"");
}

TEST(RunGroups, GroupsOfATaskAreConsecutive) {
  std::vector<RunRecord> runs = {record_of({1}), record_of({1}), record_of({1}, {{"a", "1"}})};
  runs[1].task = "Pole";
  runs[1].name = "only";
  const std::vector<RunGroup> groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].task + groups[1].task + groups[2].task, "CartCartPole");
  EXPECT_EQ(groups[0].label, "a not set");
  EXPECT_EQ(groups[2].label, "only");
}

TEST(RunGroups, ManyValuesAreAbbreviated) {
  EXPECT_EQ(values_text({"2", "0", "1"}), "0 to 2");
  EXPECT_EQ(values_text({"1", "3"}), "1, 3");
  EXPECT_EQ(values_text({"0", "2", "3"}), "0, 2, 3");
  EXPECT_EQ(values_text({"1", "2", "x"}), "1, 2, x");
  EXPECT_EQ(values_text({"9", "2", "3", "4", "5", "6", "7", "1", "0.5"}), "9, 2, 3, 4, 5, 6, 7, 1, ... (9)");
}

}  // namespace
}  // namespace drl
