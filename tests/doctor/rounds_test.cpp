// Tests rounds in which all ranks take part. ranks_test.cpp and tests/slurm/ test missing ranks.
#include "doctor/rounds.hpp"

#include <gtest/gtest.h>

#include "../mpi_main.hpp"
#include "../support/mentions.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"

namespace drl {
namespace {

using test::world;

TEST(MessageRoundsOnRanks, GatherDecideAndBroadcast) {
  Report report(false, "");
  Watchdog watchdog;
  MessageRounds rounds(world(), report, watchdog, 60);
  rounds.roll_call();
  const std::string host = host_name();
  EXPECT_EQ(rounds.hosts(),
            std::vector<std::string>(world().rank() == 0 ? static_cast<size_t>(world().size()) : 0, host));
  EXPECT_EQ(rounds.node(), (NodeInfo{1, 0, world().rank() == 0, host}));

  rounds.begin("test");
  std::vector<std::string> expected;
  for (int rank = 0; rank < world().size(); ++rank) expected.push_back("text " + std::to_string(rank));
  const std::string mine = "text " + std::to_string(world().rank());
  EXPECT_EQ(rounds.gather_texts(mine), world().rank() == 0 ? expected : std::vector<std::string>());
  const Check check = rounds.decide(mine, [&](const std::vector<std::string>& all) {
    return Check{Status::warning, all == expected ? all.back() : "not all", "look"};
  });
  EXPECT_EQ(lines_of(rounds.labelled(check)), lines_of({Status::warning, expected.back(), "look", "test"}));
  EXPECT_EQ(rounds.broadcast(world().rank() == 0 ? "word" : ""), "word");
  // This is larger than MPI's eager limit.
  const auto last = [](const std::vector<std::string>& all) { return Check{Status::ok, all.back()}; };
  EXPECT_EQ(rounds.decide(std::string(300000, 'x'), last).finding.size(), 300000u);
  rounds.end({});
}

// The ranks of a host are not consecutive, as with some launchers.
TEST(NodeInfosOnRanks, NumberNodesByTheirLowestRanks) {
  EXPECT_EQ(node_infos({"a", "b", "b", "a", "c"}),
            (std::vector<NodeInfo>{
                {3, 0, true, "a"}, {3, 1, true, "a"}, {3, 1, false, "a"}, {3, 0, false, "a"}, {3, 2, true, "a"}}));
}

// Ranks send such messages while they wait in NCCL's start or when they cannot continue.
TEST(MessageRoundsOnRanks, NameARankThatReportsAFailure) {
  if (world().size() == 1) return;
  Report report(false, "");
  Watchdog watchdog;
  MessageRounds rounds(world(), report, watchdog, 60);
  rounds.roll_call();
  rounds.begin("test");
  if (!rounds.is_rank_zero()) {
    rounds.rank() == 1 ? static_cast<void>(rounds.send_failure("no memory (std::bad_alloc): request more\n"))
                       : static_cast<void>(rounds.gather_texts(""));
  } else {
    try {
      rounds.gather_texts("");
      ADD_FAILURE() << "no CheckFailed";
    } catch (const CheckFailed& failed) {
      EXPECT_EQ(rounds.labelled(failed.check).name, "test");
      expect_mentions(failed.check.finding, {"rank 1 on " + host_name(), "no memory"});
      EXPECT_EQ(failed.check.remedy, "request more");
    }
  }
  // The other ranks skip such messages from rank 0.
  rounds.begin("next");
  for (int rank = 1; rounds.is_rank_zero() && rank < rounds.size(); ++rank) exchange("nccl: late\n!", {rank}, {}, 60);
  EXPECT_EQ(rounds.broadcast(rounds.is_rank_zero() ? "word" : ""), "word");
}

TEST(ExchangeOnRanks, ReturnsTheMessagesThatArriveInTime) {
  const int next = (world().rank() + 1) % world().size();
  if (world().size() == 1) return;
  // No rank has sent a message.
  EXPECT_TRUE(exchange("", {}, {next}, 0.05).empty());
  double all_have_waited = 1;
  world().all_reduce_sum(std::span(&all_have_waited, 1));
  // Messages of one rank keep their order.
  const int before = (world().rank() + world().size() - 1) % world().size();
  exchange("first", {next}, {}, 60);
  exchange("second", {next}, {}, 60);
  EXPECT_EQ(exchange("", {}, {before}, 60).at(before), "first");
  EXPECT_EQ(exchange("", {}, {before}, 60).at(before), "second");
}

TEST(ExchangeOnRanks, AllReducesWithADeadline) {
  const auto sum = all_reduce_within({1, static_cast<float>(world().rank())}, 60);
  ASSERT_TRUE(sum.has_value());
  const int n = world().size();
  EXPECT_EQ(*sum, (std::vector<float>{static_cast<float>(n), static_cast<float>(n * (n - 1) / 2)}));
}

// The even and the odd ranks form groups.
TEST(GroupsOnRanks, ReduceOverTheirOwnRanks) {
  if (world().size() == 1) return;
  const int group = world().rank() % 2;
  const auto comm = make_group_communicator(group);
  EXPECT_EQ(comm->size(), (world().size() + 1 - group) / 2);
  EXPECT_EQ(comm->rank(), world().rank() / 2);
  double one = 1;
  comm->all_reduce_sum(std::span(&one, 1));
  EXPECT_EQ(one, comm->size());
}

}  // namespace
}  // namespace drl
