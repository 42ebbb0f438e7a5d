// Tests the doctor's findings about the ranks.
#include "doctor/findings.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "doctor/rounds.hpp"
#include "finding.hpp"

namespace drl {
namespace {

const std::vector<std::string> kHosts = {"n1", "n1", "n2", "n2"};

// Four ranks on two nodes that all reach each other.
std::map<int, RollCallAnswer> all_present() {
  return {{0, {"n1", 2, {}}}, {1, {"n1", 2, {}}}, {2, {"n2", 2, {}}}, {3, {"n2", 2, {}}}};
}
std::map<int, RollCallAnswer> without(int rank) {
  std::map<int, RollCallAnswer> present = all_present();
  present.erase(rank);
  for (auto& [other, one] : present) one.missing_peers = {rank};
  return present;
}

TEST(Exchange, IsOkIfAllRanksAnswer) {
  expect_finding(exchange_finding(4, all_present(), 60), Status::ok, {"4 ranks", "2 nodes"});
}

TEST(Exchange, NamesAMissingRankAndItsNode) {
  expect_finding(exchange_finding(4, without(3), 60), Status::failed, {"rank 3 on n2", "60 s"},
                 {"srun --exclude=NODE"});
}

TEST(Exchange, NamesNoNodeIfAllItsRanksAreMissing) {
  std::map<int, RollCallAnswer> present = without(3);
  present.erase(2);
  expect_finding(exchange_finding(4, present, 60), Status::failed, {"ranks 2, 3 within 60 s"});
}

TEST(Exchange, NamesPairsThatCannotReachEachOther) {
  std::map<int, RollCallAnswer> present = all_present();
  present[3].missing_peers = {1};
  expect_finding(exchange_finding(4, present, 60), Status::failed, {"60 s", "from rank 1 on n1", "to rank 3 on n2"},
                 {"firewall"});
}

TEST(Exchange, NamesAtMostThreePairs) {
  std::map<int, RollCallAnswer> present = all_present();
  for (int rank : {2, 3}) present[rank].missing_peers = {0, 1};
  expect_mentions(exchange_finding(4, present, 60).finding, {"to rank 3 on n2", "1 more"});
}

TEST(Exchange, ConnectsManyRanksAtDistancesOfPowersOfTwo) {
  EXPECT_EQ(peers_of(0, 1), (std::vector<int>{}));
  EXPECT_EQ(peers_of(1, 4), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(peers_of(0, 100), (std::vector<int>{1, 2, 4, 8, 16, 32, 36, 64, 68, 84, 92, 96, 98, 99}));
  for (int a = 0; a < 100; ++a)  // peers are symmetric: a rank that waits for a message is sent one
    for (int b : peers_of(a, 100)) {
      const std::vector<int> back = peers_of(b, 100);
      EXPECT_TRUE(std::find(back.begin(), back.end(), a) != back.end()) << a << " " << b;
    }
}

TEST(Exchange, NamesRanksMissingInALaterCheck) {
  expect_finding(no_answer_finding({2, 3}, kHosts, 60), Status::failed, {"ranks 2, 3 on n2", "60 s"},
                 {"ps", "srun --exclude=NODE"});
}

TEST(Start, NamesRanksThatDidNotStart) {
  const LaunchInfo launch{.launcher = "srun", .rank = 1, .world_size = 4};
  expect_finding(start_finding(launch, "n1", {1, 2}, 8), Status::failed,
                 {"rank 1 of 4 (n1)", "MPI_Init", "8 s", "ranks 0, 3"}, {"ranks 0, 3", "srun -l"});
}

TEST(Start, SuspectsTheLauncherIfAllRanksHaveStarted) {
  const LaunchInfo launch{.launcher = "mpirun", .rank = 0, .world_size = 2};
  expect_finding(start_finding(launch, "n1", {0, 1}, 8), Status::failed, {}, {"srun --mpi=list"});
}

TEST(Start, NamesNoMissingRanksIfNoRankCouldSignIn) {
  const LaunchInfo launch{.launcher = "mpirun", .rank = 0, .world_size = 2};
  const Check check = start_finding(launch, "n1", {}, 8);
  EXPECT_EQ(check.finding.find("rank 1"), std::string::npos) << check.finding;
  expect_mentions(check.remedy, {"ps"});
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

TEST(Facts, DifferentBuildsFail) {
  std::vector<RankFacts> ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.build = "1 (a)";
  EXPECT_EQ(build_finding(ranks).finding, "drl 1 (a)");
  ranks[2].build = ranks[3].build = "1 (b)";
  const Check check = build_finding(ranks);
  expect_finding(check, Status::failed, {"builds", "1 (a) (ranks 0, 1 on n1)", "1 (b) (ranks 2, 3 on n2)"});
  EXPECT_NE(check.remedy, "");
}

TEST(Facts, DifferentHardwareIsAWarning) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(hardware_finding(ranks).finding, "EPYC");
  for (RankFacts& rank : ranks) rank.gpu = "H100";
  EXPECT_EQ(hardware_finding(ranks).finding, "EPYC, H100");
  EXPECT_EQ(hardware_finding(ranks).status, Status::ok);
  ranks[3].cpu_model = "Xeon", ranks[0].gpu = "A100";
  expect_finding(hardware_finding(ranks), Status::warning,
                 {"A100 (rank 0 on n1)", "H100 (rank 1 on n1; ranks 2, 3 on n2)",
                  "EPYC (ranks 0, 1 on n1; rank 2 on n2)", "Xeon (rank 3 on n2)"},
                 {"--constraint"});
}

TEST(Facts, NamesTheRankWithTheSlowestLoad) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(load_finding(ranks).status, Status::skipped) << "no rank has measured its time";
  for (RankFacts& rank : ranks) rank.load = 0.25;
  ranks[1].load = 2.5;
  expect_finding(load_finding(ranks), Status::ok, {"at most 2.50 s"});
  EXPECT_TRUE(load_finding({ranks[1]}).finding.starts_with("2.50 s ")) << load_finding({ranks[1]}).finding;
  ranks[2].load = 12.5;
  expect_finding(load_finding(ranks), Status::warning, {"12.50 s", "rank 2 on n2"}, {"DRL_SBCAST=1"});
}

TEST(Facts, ComparesLibrariesAndWarnsOfTheReferenceBlas) {
  std::vector<RankFacts> ranks = four_ranks();
  EXPECT_EQ(library_finding(ranks).finding, "OpenBLAS, Open MPI 4");
  for (RankFacts& rank : ranks) rank.blas = "reference BLAS", rank.reference_blas = true;
  expect_finding(library_finding(ranks), Status::warning, {"reference BLAS"}, {"libopenblas0-pthread"});
  for (RankFacts& rank : ranks) rank.blas = "", rank.reference_blas = false;  // without libtorch
  EXPECT_EQ(library_finding(ranks).status, Status::ok);
  EXPECT_EQ(library_finding(ranks).finding, "Open MPI 4");
  for (RankFacts& rank : ranks) rank.torch_trouble = "no libtorch (it is missing): use something else";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  EXPECT_EQ(library_finding(ranks).finding, "no libtorch (it is missing)");
  EXPECT_EQ(library_finding(ranks).remedy, "use something else");
  ranks = four_ranks();
  for (RankFacts& rank : ranks) rank.cuda = "13.0";
  EXPECT_EQ(library_finding(ranks).finding, "OpenBLAS, Open MPI 4, CUDA 13.0");
  ranks[3].cuda = "12.9";
  EXPECT_EQ(library_finding(ranks).status, Status::warning);
  ranks = four_ranks();
  ranks[0].mpi = "MPICH 4";
  expect_finding(library_finding(ranks), Status::warning, {"OpenBLAS, MPICH 4 (rank 0 on n1)"}, {"same modules"});
}

TEST(RunDirectory, FailsIfARankCannotReadIt) {
  std::vector<DirectoryProbe> probes = {{""}, {""}, {""}, {""}};
  expect_finding(run_directory_finding("/runs", probes, kHosts, 2e12), Status::ok, {"/runs", "all nodes", "1.82 TiB"});
  expect_mentions(run_directory_finding("/runs", probes, kHosts, 2e12, true).finding, {"lock file", "no locks"});
  probes[2].error = probes[3].error = "No such file or directory";
  expect_finding(run_directory_finding("/runs", probes, kHosts, 2e12), Status::failed,
                 {"/runs", "not shared", "ranks 2, 3 on n2", "n1", "No such file or directory"},
                 {"--runs_dir", "DRL_RUNS_DIR"});
}

TEST(RunDirectory, ReportsTheKindOfLockOnOneNode) {
  const std::string by_system = run_directory_finding("/runs", {{""}}, {"n1"}, 2e12).finding;
  expect_mentions(by_system, {"/runs", "writable", "file system", "1.82 TiB"});
  EXPECT_EQ(by_system.find("lock file"), std::string::npos) << by_system;
  expect_mentions(run_directory_finding("/runs", {{""}}, {"n1"}, 2e12, true).finding, {"writable", "lock file"});
}

TEST(RunDirectory, WarnsIfAnotherNodeIgnoresTheLock) {
  expect_finding(run_directory_finding("/runs", {{""}, {""}, {"", true}, {""}}, kHosts, 2e12), Status::warning,
                 {"/runs", "lock", "n1", "on n2"}, {"flock"});
}

TEST(RunDirectory, WarnsOfLowSpace) {
  expect_finding(run_directory_finding("/runs", {{""}}, {"n1"}, 1 << 20), Status::warning, {"/runs", "1.00 MiB"},
                 {"--runs_dir"});
}

TEST(TimeLeft, WarnsOfAJobThatEndsSoonOrAtAnUnknownTime) {
  expect_finding(time_finding("", std::nullopt), Status::ok, {"not in a Slurm job"});
  expect_finding(time_finding("12", HUGE_VAL), Status::ok, {"job 12", "no time limit"});
  expect_finding(time_finding("12", 3600), Status::ok, {"1:00:00", "job 12"});
  expect_finding(time_finding("12", 200), Status::warning, {"only 0:03:20", "job 12"}, {"-t HOURS"});
  expect_finding(time_finding("12", std::nullopt), Status::warning, {"job 12", "unknown", "squeue"},
                 {"--signal=USR1@120"});
}

// The record has the format of scontrol in Slurm 24.11.
TEST(Slurm, ReportsWhetherTheJobCanBeRequeued) {
  const auto record = [](const std::string& requeue, const std::string& batch) {
    return "JobId=12 JobName=drl\n   UserId=me(1000) GroupId=me(1000) MCS_label=N/A\n   Requeue=" + requeue +
           " Restarts=0 BatchFlag=" + batch + " Reboot=0 ExitCode=0:0\n";
  };
  const auto finding = [](const std::string& record) { return slurm_finding("12", "slurm 24.11.5", record).finding; };
  expect_mentions(finding(record("1", "1")), {"slurm 24.11.5", "job 12 ", "can be requeued"});
  expect_mentions(finding(record("0", "1")), {"slurm 24.11.5", "job 12 ", "cannot be requeued"});
  expect_mentions(finding(record("1", "0")), {"slurm 24.11.5", "job 12", "not a batch job"});
  expect_mentions(finding(""), {"slurm 24.11.5", "scontrol did not", "job 12"});
  expect_mentions(slurm_finding("12", "", "").finding, {"unknown version"});
  EXPECT_EQ(slurm_finding("12", "", "").status, Status::ok);
}

}  // namespace
}  // namespace drl
