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
std::map<int, Presence> all_well() {
  return {{0, {"n1", 2, {}}}, {1, {"n1", 2, {}}}, {2, {"n2", 2, {}}}, {3, {"n2", 2, {}}}};
}
std::map<int, Presence> without(int rank) {
  std::map<int, Presence> present = all_well();
  present.erase(rank);
  for (auto& [other, one] : present) one.missed = {rank};
  return present;
}

TEST(Exchange, AllAnswer) {
  const Check check = exchange_finding(4, all_well(), 60);
  EXPECT_EQ(check.status, Status::ok);
  EXPECT_EQ(check.finding, "4 ranks on 2 nodes, and all answer");
}

TEST(Exchange, ASilentRankIsNamedWithItsNode) {
  const Check check = exchange_finding(4, without(3), 60);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no answer from rank 3 on n2 within 60 s");
  EXPECT_TRUE(holds(check.remedy, "srun --exclude=NODE")) << check.remedy;
}

TEST(Exchange, OfASilentNodeNobodyKnowsTheName) {
  std::map<int, Presence> present = without(3);
  present.erase(2);
  EXPECT_EQ(exchange_finding(4, present, 60).finding, "no answer from ranks 2, 3 within 60 s");
}

TEST(Exchange, PairsThatDoNotHearEachOtherAreNamed) {
  std::map<int, Presence> present = all_well();
  present[3].missed = {1};
  const Check check = exchange_finding(4, present, 60);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "no messages within 60 s from rank 1 of n1 to 3 of n2");
  EXPECT_TRUE(holds(check.remedy, "open the firewall")) << check.remedy;
}

TEST(Exchange, OfManyPairsThreeAreNamed) {
  std::map<int, Presence> present = all_well();
  for (int rank : {2, 3}) present[rank].missed = {0, 1};
  EXPECT_TRUE(holds(exchange_finding(4, present, 60).finding, " to 3 of n2 and 1 more"))
      << exchange_finding(4, present, 60).finding;
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
  const Check check = silence({2, 3}, kHosts, 60);
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

TEST(Facts, BuildsThatDifferAreNamedWithTheirRanks) {
  std::vector<RankFacts> ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.build = "1 (a)";
  EXPECT_EQ(build_finding(ranks).finding, "drl 1 (a)");
  ranks[2].build = ranks[3].build = "1 (b)";
  const Check check = build_finding(ranks);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding, "ranks run different builds: 1 (a) (ranks 0, 1 on n1), 1 (b) (ranks 2, 3 on n2)");
  EXPECT_TRUE(holds(check.remedy, "the same installation")) << check.remedy;
}

TEST(Facts, HardwareThatDiffersIsAWarning) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(hardware_finding(ranks).finding, "EPYC");
  for (RankFacts& rank : ranks) rank.gpu = "H100";
  EXPECT_EQ(hardware_finding(ranks).finding, "EPYC, H100");
  EXPECT_EQ(hardware_finding(ranks).status, Status::ok);
  ranks[3].cpu_model = "Xeon", ranks[0].gpu = "A100";
  EXPECT_EQ(hardware_finding(ranks).status, Status::warning);
  EXPECT_EQ(hardware_finding(ranks).finding,
            "ranks compute on different hardware (GPUs: A100 (rank 0 on n1), H100 (rank 1 on n1; ranks 2, 3 on n2); "
            "CPUs: EPYC (ranks 0, 1 on n1; rank 2 on n2), Xeon (rank 3 on n2))");
  EXPECT_TRUE(hardware_finding(ranks).remedy.starts_with("the numbers depend on it"));
  EXPECT_TRUE(holds(hardware_finding(ranks).remedy, "--constraint"));
}

TEST(Facts, TheSlowestLoadIsNamed) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(load_finding(ranks).status, Status::skipped) << "nobody knows";
  for (RankFacts& rank : ranks) rank.load = 0.25;
  ranks[1].load = 2.5;
  EXPECT_EQ(load_finding(ranks).status, Status::ok);
  EXPECT_EQ(load_finding(ranks).finding, "at most 2.50 s from start to main");
  EXPECT_EQ(load_finding({ranks[1]}).finding, "2.50 s from start to main");
  ranks[2].load = 12.5;
  EXPECT_EQ(load_finding(ranks).status, Status::warning);
  EXPECT_EQ(load_finding(ranks).finding, "12.50 s from start to main of rank 2 on n2, the slowest");
  EXPECT_TRUE(holds(load_finding(ranks).remedy, "DRL_SBCAST"));
}

TEST(Facts, Libraries) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(library_finding(ranks).finding, "OpenBLAS, Open MPI 4");
  for (RankFacts& rank : ranks) rank.blas = "reference BLAS", rank.reference_blas = true;
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_TRUE(holds(library_finding(ranks).finding, "4 to 5 times slower"));
  EXPECT_TRUE(holds(library_finding(ranks).remedy, "libopenblas0-pthread"));
  for (RankFacts& rank : ranks) rank.blas = "", rank.reference_blas = false;  // without libtorch
  EXPECT_EQ(library_finding(ranks).status, Status::ok);
  EXPECT_EQ(library_finding(ranks).finding, "Open MPI 4");
  for (RankFacts& rank : ranks) rank.torch_trouble = "libtorch cannot be used (it is not there): use something else";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_EQ(library_finding(ranks).finding, "libtorch cannot be used (it is not there)");
  EXPECT_EQ(library_finding(ranks).remedy, "use something else");
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.cuda = "13.0";
  EXPECT_EQ(library_finding(ranks).finding, "OpenBLAS, Open MPI 4, CUDA 13.0");
  ranks[3].cuda = "12.9";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  ranks = four_ranks();
  ranks[0].mpi = "MPICH 4";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_TRUE(holds(library_finding(ranks).finding, "they differ: OpenBLAS, MPICH 4 (rank 0 on n1), "));
  EXPECT_TRUE(holds(library_finding(ranks).remedy, "the same modules"));
}

TEST(Folder, ThatOthersDoNotSeeIsNotShared) {
  std::vector<FolderVisit> visits = {{""}, {""}, {""}, {""}};
  EXPECT_EQ(folder_finding("/runs", visits, kHosts, 2e12).finding,
            "/runs: all nodes read it, its lock holds, 1.82 TiB free");
  EXPECT_EQ(folder_finding("/runs", visits, kHosts, 2e12, true).finding,
            "/runs: all nodes read it, locked by a file (the file system has no locks), 1.82 TiB free");
  visits[2].trouble = visits[3].trouble = "No such file or directory";
  const Check check = folder_finding("/runs", visits, kHosts, 2e12);
  EXPECT_EQ(check.status, Status::failed);
  EXPECT_EQ(check.finding,
            "/runs is not shared: ranks 2, 3 on n2 cannot read what n1 wrote (No such file or directory)");
  EXPECT_TRUE(holds(check.remedy, "--runs_dir or DRL_RUNS_DIR")) << check.remedy;
}

TEST(Folder, OfOneNodeSaysItsLock) {
  EXPECT_EQ(folder_finding("/runs", {{""}}, {"n1"}, 2e12).finding,
            "/runs: writable, with the file system's locks, 1.82 TiB free");
  EXPECT_EQ(folder_finding("/runs", {{""}}, {"n1"}, 2e12, true).finding,
            "/runs: writable, locked by a file (the file system has no locks), 1.82 TiB free");
}

TEST(Folder, LocksThatDoNotHold) {
  const Check check = folder_finding("/runs", {{""}, {""}, {"", true}, {""}}, kHosts, 2e12);
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
  EXPECT_EQ(time_finding("", std::nullopt).finding, "not in a Slurm job, no limit known");
  EXPECT_EQ(time_finding("12", HUGE_VAL).finding, "job 12 has no limit");
  EXPECT_EQ(time_finding("12", 3600).finding, "1:00:00 of job 12");
  EXPECT_EQ(time_finding("12", 200).status, Status::warning);
  EXPECT_EQ(time_finding("12", 200).finding, "only 0:03:20 of job 12");
  EXPECT_TRUE(holds(time_finding("12", 200).remedy, "-t HOURS"));
  EXPECT_EQ(time_finding("12", std::nullopt).status, Status::warning);
  EXPECT_EQ(time_finding("12", std::nullopt).finding, "the end of job 12 is not known (squeue did not tell)");
  EXPECT_TRUE(holds(time_finding("12", std::nullopt).remedy, "--signal=USR1@120"));
}

// As scontrol prints a job (Slurm 24.11).
TEST(Slurm, SaysWhetherTheJobMayBeRequeued) {
  const auto record = [](const std::string& requeue, const std::string& batch) {
    return "JobId=12 JobName=drl\n   UserId=me(1000) GroupId=me(1000) MCS_label=N/A\n   Requeue=" + requeue +
           " Restarts=0 BatchFlag=" + batch + " Reboot=0 ExitCode=0:0\n";
  };
  const auto finding = [](const std::string& record) { return slurm_finding("12", "slurm 24.11.5", record).finding; };
  EXPECT_EQ(finding(record("1", "1")), "slurm 24.11.5; job 12 may be requeued");
  EXPECT_EQ(finding(record("0", "1")),
            "slurm 24.11.5; job 12 may not be requeued (the batch scripts submit a follow-up job)");
  EXPECT_EQ(finding(record("1", "0")), "slurm 24.11.5; job 12 is no batch job (Slurm requeues only those)");
  EXPECT_EQ(finding(""), "slurm 24.11.5; whether job 12 may be requeued is not known (scontrol did not tell)");
  EXPECT_TRUE(slurm_finding("12", "", "").finding.starts_with("of unknown version; "));
  EXPECT_EQ(slurm_finding("12", "", "").status, Status::ok);
}

}  // namespace
}  // namespace drl
