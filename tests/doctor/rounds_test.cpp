// Rounds of real ranks: all go well; what happens when a rank is missing is tested from outside (apps, slurm).
#include "doctor/rounds.hpp"

#include <gtest/gtest.h>

#include "../mpi_main.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"

namespace drl {
namespace {

using test::world;

TEST(Rounds, CollectDecideAndAnnounce) {
  Report report(false, "");
  Watchdog watchdog;
  Rounds rounds(world(), report, watchdog, 60);
  rounds.roll_call();
  const std::string host = host_name();
  EXPECT_EQ(rounds.hosts(),
            std::vector<std::string>(world().rank() == 0 ? static_cast<size_t>(world().size()) : 0, host));
  EXPECT_EQ(rounds.standing(), (Standing{1, 0, world().rank() == 0, host}));

  rounds.begin("test");
  std::vector<std::string> expected;
  for (int rank = 0; rank < world().size(); ++rank) expected.push_back("text " + std::to_string(rank));
  const std::string mine = "text " + std::to_string(world().rank());
  EXPECT_EQ(rounds.collect(mine), world().rank() == 0 ? expected : std::vector<std::string>());
  const Check check = rounds.decide(mine, [&](const std::vector<std::string>& all) {
    return Check{Status::warning, all == expected ? all.back() : "not all", "look"};
  });
  EXPECT_EQ(lines_of(rounds.named(check)), lines_of({Status::warning, expected.back(), "look", "test"}));
  EXPECT_EQ(rounds.announce(world().rank() == 0 ? "word" : ""), "word");
  // More than MPI sends before the other side asks for it.
  const auto last = [](const std::vector<std::string>& all) { return Check{Status::ok, all.back()}; };
  EXPECT_EQ(rounds.decide(std::string(300000, 'x'), last).finding.size(), 300000u);
  rounds.end({});
}

// Ranks 1 and 2 on b, 3 on a again, as some launchers deal them out.
TEST(Standings, CountHostsByTheirFirstRanks) {
  EXPECT_EQ(standings({"a", "b", "b", "a", "c"}),
            (std::vector<Standing>{
                {3, 0, true, "a"}, {3, 1, true, "a"}, {3, 1, false, "a"}, {3, 0, false, "a"}, {3, 2, true, "a"}}));
}

// What ranks say that still wait in NCCL, or give up.
TEST(Rounds, NameARankThatIsAtSomethingElse) {
  if (world().size() == 1) return;
  Report report(false, "");
  Watchdog watchdog;
  Rounds rounds(world(), report, watchdog, 60);
  rounds.roll_call();
  rounds.begin("test");
  if (!rounds.leads()) {
    rounds.rank() == 1 ? static_cast<void>(rounds.give_up("nccl: late\n")) : static_cast<void>(rounds.collect(""));
  } else {
    try {
      rounds.collect("");
      ADD_FAILURE() << "nothing was found";
    } catch (const CheckFailed& failed) {
      EXPECT_EQ(rounds.named(failed.check).name, "test");
      EXPECT_EQ(failed.check.finding, "rank 1 on " + host_name() + " did not come to its end: nccl: late");
    }
  }
  // Of rank 0 such words are passed over.
  rounds.begin("next");
  for (int rank = 1; rounds.leads() && rank < rounds.size(); ++rank) exchange("nccl: late\n!", {rank}, {}, 60);
  EXPECT_EQ(rounds.announce(rounds.leads() ? "word" : ""), "word");
}

TEST(Exchange, ReturnsWhatHasComeInTime) {
  const int next = (world().rank() + 1) % world().size();
  if (world().size() == 1) return;
  // Nobody sends: nothing comes.
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

TEST(Exchange, AllReduceWithADeadline) {
  const auto sum = all_reduce_within({1, static_cast<float>(world().rank())}, 60);
  ASSERT_TRUE(sum.has_value());
  const int n = world().size();
  EXPECT_EQ(*sum, (std::vector<float>{static_cast<float>(n), static_cast<float>(n * (n - 1) / 2)}));
}

// Ranks of even and of odd number.
TEST(Groups, AddUpForThemselves) {
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
