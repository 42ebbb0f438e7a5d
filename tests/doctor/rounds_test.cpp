// Rounds of real ranks: all go well; what happens when a rank is missing is tested from outside (apps, slurm).
#include "doctor/rounds.hpp"

#include <gtest/gtest.h>

#include "../mpi_main.hpp"
#include "cluster/exchange.hpp"
#include "cluster/machine.hpp"

namespace drl {
namespace {

using test::world;

TEST(Rounds, CollectDecideAndAnnounce) {
  Report report(false, "");
  Watchdog watchdog;
  Rounds rounds(world(), report, watchdog, 60);
  rounds.roll_call();
  const std::string host = this_machine().host;
  EXPECT_EQ(rounds.hosts(),
            std::vector<std::string>(world().rank() == 0 ? static_cast<size_t>(world().size()) : 0, host));
  EXPECT_EQ(rounds.standing(), (Standing{1, 0, world().rank() == 0, host}));

  rounds.begin("test");
  std::vector<std::string> expected;
  for (int rank = 0; rank < world().size(); ++rank) expected.push_back("text " + std::to_string(rank));
  const std::string mine = "text " + std::to_string(world().rank());
  EXPECT_EQ(rounds.collect(mine), world().rank() == 0 ? expected : std::vector<std::string>());
  const auto last = [&](const std::vector<std::string>& all) { return all == expected ? all.back() : "not all"; };
  EXPECT_EQ(rounds.decide(mine, last), expected.back());
  EXPECT_EQ(rounds.announce(world().rank() == 0 ? "word" : ""), "word");
  // More than MPI sends before the other side asks for it.
  EXPECT_EQ(rounds.decide(std::string(300000, 'x'), [](const auto& all) { return all.back(); }).size(), 300000u);
  rounds.end({"test", Status::ok, ""});
}

// Ranks 1 and 2 on b, 3 on a again, as some launchers deal them out.
TEST(Standings, CountHostsByTheirFirstRanks) {
  EXPECT_EQ(standings({"a", "b", "b", "a", "c"}),
            (std::vector<Standing>{
                {3, 0, true, "a"}, {3, 1, true, "a"}, {3, 1, false, "a"}, {3, 0, false, "a"}, {3, 2, true, "a"}}));
}

// Rank 1 of 100, when rank 0 and rank 3 do not answer: of the ranks that it has not asked it says nothing.
TEST(Hearings, AreOfThoseThatWereAsked) {
  std::map<int, std::string> peers;
  for (int peer : peers_of(1, 100)) peers[peer] = "b\t2";
  EXPECT_EQ(peers.size(), 14u);  // at distances 1, 2, 4, ..., 64, both ways
  peers.erase(0), peers.erase(3);
  const Check check = exchange_finding(hearings_of(1, 100, "a\t2", peers), 8);
  EXPECT_EQ(check.finding, "no answer from ranks 0, 3 within 8 s");
}

// Of four ranks all are asked: rank 0's host is the one that is not complete.
TEST(Hearings, TellTheHostOfASilentRank) {
  const Check check = exchange_finding(hearings_of(1, 4, "a\t2", {{2, "b\t2"}, {3, "b\t2"}}), 8);
  EXPECT_EQ(check.finding, "no answer from rank 0 on a within 8 s");
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
      EXPECT_EQ(failed.check().name, "test");
      EXPECT_EQ(failed.check().finding, "rank 1 on " + this_machine().host + " did not come to its end: nccl: late");
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
