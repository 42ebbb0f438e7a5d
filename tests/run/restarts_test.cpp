#include "run/restarts.hpp"

#include <gtest/gtest.h>

namespace drl {
namespace {

// 64 ranks on four nodes become 48 or fewer on three.
TEST(Restarts, RanksDivideEnvironmentsAndShards) {
  EXPECT_EQ(ranks_for({"", 9216, 0}, 48), 48);
  EXPECT_EQ(ranks_for({"", 8192, 0}, 48), 32);
  EXPECT_EQ(ranks_for({"", 9216, 64}, 48), 32);
  EXPECT_EQ(ranks_for({"", 7, 0}, 6), 1);
}

TEST(Restarts, LeaveOutSlowHostsIfThereAreOthers) {
  using Names = std::vector<std::string>;
  const Names nodes = {"n1", "n2", "n3"};
  EXPECT_EQ(without_hosts(nodes, {"n2.cluster.org", "n4"}), (Names{"n1", "n3"}));
  EXPECT_EQ(without_hosts({"n1.cluster.org", "n10"}, {"n1"}), Names{"n10"});
  EXPECT_EQ(without_hosts(nodes, {}), nodes);
  EXPECT_EQ(without_hosts(nodes, {"n3", "n2", "n1"}), nodes);
}

TEST(Restarts, TheCommandKeepsWhatWasTypedButTheChoiceOfTheRun) {
  const std::vector<NamedValue> given = {{"task", "Cartpole"}, {"run_name", "a b"}, {"fresh", "true"},
                                         {"num_envs", "64"},   {"ranks", "4"},      {"quiet", "true"}};
  using Words = std::vector<std::string>;
  EXPECT_EQ(
      command_to_continue("drl_train", given, {"/runs/a b", 256, 0}, 4, false),
      (Words{"drl_train", "--load_run=/runs/a b", "--ranks=4", "--task=Cartpole", "--num_envs=64", "--quiet=true"}));
  EXPECT_EQ(command_to_continue("drl_train", given, {"/runs/a b", 256, 0}, 2, true),
            (Words{"drl_train", "--load_run=/runs/a b", "--ranks=2", "--num_envs_total=256", "--task=Cartpole",
                   "--quiet=true"}));
}

}  // namespace
}  // namespace drl
