// What the doctor says of what the ranks measured.
#include "doctor/findings.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "doctor/rounds.hpp"

namespace drl {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> kHosts = {"n1", "n1", "n2", "n2"};

// Four ranks on two nodes, all of which hear each other.
Hearings all_well() {
  Hearings hearings{.peers = {}, .heard = {}, .hosts = kHosts, .local_sizes = {2, 2, 2, 2}};
  for (int rank = 0; rank < 4; ++rank) {
    hearings.peers.push_back(peers_of(rank, 4));
    hearings.heard[rank] = hearings.peers.back();
  }
  return hearings;
}
Hearings without(int rank) {
  Hearings hearings = all_well();
  hearings.heard.erase(rank);
  for (auto& [other, heard] : hearings.heard) std::erase(heard, rank);
  hearings.hosts[static_cast<size_t>(rank)] = "";
  hearings.local_sizes[static_cast<size_t>(rank)] = 0;
  return hearings;
}

TEST(Exchange, AllAnswer) {
  const Check check = exchange_finding(all_well(), 60);
  EXPECT_EQ(check.status, Status::ok);
  EXPECT_EQ(check.finding, "4 ranks on 2 nodes, and all answer");
}

TEST(Exchange, ASilentRankIsNamedWithItsNode) {
  const Check check = exchange_finding(without(3), 60);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no answer from rank 3 on n2 within 60 s");
  EXPECT_TRUE(holds(check.remedy, "srun --exclude=NODE")) << check.remedy;
}

TEST(Exchange, OfASilentNodeNobodyKnowsTheName) {
  Hearings hearings = without(3);
  hearings.heard.erase(2);
  hearings.hosts[2] = "", hearings.local_sizes[2] = 0;
  EXPECT_EQ(exchange_finding(hearings, 60).finding, "no answer from ranks 2, 3 within 60 s");
}

TEST(Exchange, PairsThatDoNotHearEachOtherAreNamed) {
  Hearings hearings = all_well();
  std::erase(hearings.heard[3], 1);
  const Check check = exchange_finding(hearings, 60);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no messages within 60 s from rank 1 of n1 to 3 of n2");
  EXPECT_TRUE(holds(check.remedy, "open the firewall")) << check.remedy;
}

TEST(Exchange, OfManyPairsThreeAreNamed) {
  Hearings hearings = all_well();
  for (int rank : {2, 3}) std::erase_if(hearings.heard[rank], [](int peer) { return peer < 2; });
  EXPECT_TRUE(holds(exchange_finding(hearings, 60).finding, " to 3 of n2 and 1 more"))
      << exchange_finding(hearings, 60).finding;
}

TEST(Exchange, OfManyRanksEachMeetsThoseThatAllReducesUse) {
  EXPECT_EQ(peers_of(0, 1), (std::vector<int>{}));
  EXPECT_EQ(peers_of(1, 4), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(peers_of(0, 100), (std::vector<int>{1, 2, 4, 8, 16, 32, 36, 64, 68, 84, 92, 96, 98, 99}));
  for (int a = 0; a < 100; ++a)  // who waits for a message is sent one
    for (int b : peers_of(a, 100)) {
      const std::vector<int> back = peers_of(b, 100);
      EXPECT_TRUE(std::find(back.begin(), back.end(), a) != back.end()) << a << " " << b;
    }
}

TEST(Exchange, ASilentRankOfALaterCheck) {
  const Check check = silence("run directory", {2, 3}, kHosts, 60);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no answer from ranks 2, 3 on n2 within 60 s");
  EXPECT_TRUE(holds(check.remedy, "waiting for a file system")) << check.remedy;
}

TEST(Start, RanksThatNeverArrivedAreNamed) {
  const LaunchInfo launch{.launcher = "srun", .rank = 1, .world_size = 4};
  const Check check = start_finding(launch, "n1", {1, 2}, 8);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "rank 1 of 4 (n1) has been in MPI_Init for 8 s; ranks 0, 3 never arrived");
  EXPECT_TRUE(holds(check.remedy, "look for ranks 0, 3")) << check.remedy;
}

TEST(Start, AllHaveStartedButDoNotMeet) {
  const LaunchInfo launch{.launcher = "mpirun", .rank = 0, .world_size = 2};
  EXPECT_TRUE(holds(start_finding(launch, "n1", {0, 1}, 8).remedy, "do not find each other"));
}

TEST(Start, WithoutFilesOnlyThisRankIsKnown) {
  const LaunchInfo launch{.launcher = "mpirun", .rank = 0, .world_size = 2};
  const Check check = start_finding(launch, "n1", {}, 8);
  EXPECT_FALSE(holds(check.finding, "never arrived"));
  EXPECT_TRUE(holds(check.remedy, "by \"ps\" on each node")) << check.remedy;
}

TEST(Clocks, ASecondIsTooMuch) {
  EXPECT_EQ(clock_finding({{"n1", 0}}).finding, "1 node");
  const Check good = clock_finding({{"n1", 0}, {"n2", -0.02}, {"n3", 0.003}});
  EXPECT_EQ(good.status, Status::ok);
  EXPECT_EQ(good.finding, "all within 20 ms of n1's");
  const Check bad = clock_finding({{"n1", 0}, {"n2", 0.5}, {"n3", -90}});
  EXPECT_EQ(bad.status, Status::warning);
  EXPECT_EQ(bad.finding, "n3's is 90 s behind n1's");
  EXPECT_EQ(clock_finding({{"n1", 0}, {"n2", 1.5}}).finding, "n2's is 1.5 s ahead of n1's");
  EXPECT_TRUE(holds(bad.remedy, "chrony")) << bad.remedy;
}

TEST(Builds, DifferentOnesAreNamedWithTheirRanks) {
  EXPECT_EQ(build_finding({"1", "1", "1", "1"}, kHosts).status, Status::ok);
  const Check check = build_finding({"1 (a)", "1 (a)", "1 (b)", "1 (b)"}, kHosts);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "ranks run different builds: 1 (a) (ranks 0, 1 on n1), 1 (b) (ranks 2, 3 on n2)");
  EXPECT_TRUE(holds(check.remedy, "the same installation")) << check.remedy;
}

std::vector<RankFacts> four_ranks() {
  std::vector<RankFacts> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    RankFacts& facts = ranks[static_cast<size_t>(rank)];
    facts.rank = rank;
    facts.host = kHosts[static_cast<size_t>(rank)];
    facts.cpu_model = "EPYC", facts.blas = "OpenBLAS", facts.mpi = "Open MPI 4";
  }
  return ranks;
}

TEST(Facts, CpuModels) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(cpu_finding(ranks).status, Status::ok);
  ranks[3].cpu_model = "Xeon";
  EXPECT_EQ(cpu_finding(ranks).status, Status::warning);
  EXPECT_EQ(cpu_finding(ranks).finding, "they differ: EPYC (ranks 0, 1 on n1; rank 2 on n2), Xeon (rank 3 on n2)");
  EXPECT_TRUE(holds(cpu_finding(ranks).remedy, "--constraint"));
}

TEST(Facts, Libraries) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(library_finding(ranks).finding, "OpenBLAS, Open MPI 4");
  for (RankFacts& rank : ranks) rank.blas = "reference BLAS", rank.reference_blas = true;
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_TRUE(holds(library_finding(ranks).finding, "4 to 5 times slower"));
  EXPECT_TRUE(holds(library_finding(ranks).remedy, "libopenblas0-pthread"));
  ranks[0].mpi = "MPICH 4";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_TRUE(holds(library_finding(ranks).finding, "they differ: reference BLAS, MPICH 4 (rank 0 on n1), "));
  EXPECT_TRUE(holds(library_finding(ranks).remedy, "the same modules"));
}

TEST(Speed, ANodeFarFromTheMedianIsNamed) {
  EXPECT_EQ(speed_finding({2, 2}, {"n1", "n1"}).finding, "1 node");
  EXPECT_EQ(speed_finding({1, 1.25}, {"n1", "n2"}).finding, "1.00 to 1.25 of the median time");
  const Check check = speed_finding({1.0, 1.1, 1.0, 2.2, 1.1, 1.0}, {"n1", "n1", "n2", "n2", "n3", "n3"});
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "n2 2.00 times slower than the median node in plain arithmetic");  // 2.2 / 1.1
  EXPECT_TRUE(holds(check.remedy, "power limit")) << check.remedy;
}

TEST(AllReduce, BusBandwidthCountsWhatEachRankMoves) {
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 2), 1000);  // 2 (n - 1) / n = 1
  EXPECT_DOUBLE_EQ(bus_bandwidth({1000, 1}, 4), 1500);
}

TEST(AllReduce, OnlyAbsurdFiguresAreWorthAWarning) {
  const AllReduceTimes good{2, "n2", {{4, 3e-6}, {64 << 20, 0.1}}};
  EXPECT_EQ(all_reduce_finding("all-reduce", good).status, Status::ok);
  EXPECT_EQ(all_reduce_finding("all-reduce", good).finding,
            "2 ranks, sums right: 4 B in 3.0 us, 64.0 MiB in 100.0 ms, that is 0.67 GB/s (slowest node: n2)");
  const AllReduceTimes slow{2, "", {{4, 3e-6}, {4 << 20, 0.05}}};  // 84 MB/s
  EXPECT_EQ(all_reduce_finding("all-reduce", slow).status, Status::warning);
  EXPECT_TRUE(holds(all_reduce_finding("all-reduce", slow).remedy, "gigabit Ethernet"));
  const AllReduceTimes late{2, "", {{4, 0.04}, {64 << 20, 0.1}}};
  EXPECT_EQ(all_reduce_finding("all-reduce", late).status, Status::warning);
}

TEST(Folder, ThatOthersDoNotSeeIsNotShared) {
  std::vector<FolderVisit> visits = {{""}, {""}, {"", true}, {""}};
  EXPECT_EQ(folder_finding("/runs", visits, kHosts, 2e12).finding,
            "/runs: all nodes read it, its lock holds, 1.82 TiB free");
  EXPECT_EQ(folder_finding("/runs", visits, kHosts, 2e12, true).finding,
            "/runs: all nodes read it, locked by a file (the file system has no locks), 1.82 TiB free");
  visits[2].read = visits[3].read = "No such file or directory";
  const Check check = folder_finding("/runs", visits, kHosts, 2e12);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding,
            "/runs is not shared: ranks 2, 3 on n2 cannot read what n1 wrote (No such file or directory)");
  EXPECT_TRUE(holds(check.remedy, "--runs_dir or DRL_RUNS_DIR")) << check.remedy;
}

TEST(Folder, LocksThatDoNotHold) {
  const Check check = folder_finding("/runs", {{""}, {""}, {"", false}, {""}}, kHosts, 2e12);
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "/runs: n1's lock does not hold on n2");
  EXPECT_TRUE(holds(check.remedy, "flock")) << check.remedy;
}

TEST(Folder, LittleSpace) {
  const Check check = folder_finding("/runs", {{""}}, {"n1"}, 1 << 20);
  EXPECT_EQ(check.status, Status::warning);
  EXPECT_EQ(check.finding, "/runs: only 1.00 MiB free");
  EXPECT_TRUE(holds(check.remedy, "make room")) << check.remedy;
}

TEST(TimeLeft, OfAJob) {
  EXPECT_EQ(time_finding("", std::nullopt).finding, "not in a Slurm job, no limit");
  EXPECT_EQ(time_finding("12", HUGE_VAL).finding, "job 12 has no limit");
  EXPECT_EQ(time_finding("12", 3600).finding, "1:00:00 of job 12");
  EXPECT_EQ(time_finding("12", 200).status, Status::warning);
  EXPECT_EQ(time_finding("12", 200).finding, "only 0:03:20 of job 12");
  EXPECT_TRUE(holds(time_finding("12", 200).remedy, "-t HOURS"));
  EXPECT_EQ(time_finding("12", std::nullopt).status, Status::warning);
  EXPECT_EQ(time_finding("12", std::nullopt).finding, "the end of job 12 is not known (squeue did not tell)");
  EXPECT_TRUE(holds(time_finding("12", std::nullopt).remedy, "--signal=USR1@120"));
}

}  // namespace
}  // namespace drl
