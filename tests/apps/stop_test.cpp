// Tests requests to stop, and ranks that are killed or fail.
#include <chrono>
#include <csignal>
#include <thread>

#include "programs.hpp"

namespace drl::test {
namespace {

DRL_ON_RANKS(Stop);

// Returns the command that resumes the run, from the last lines of the output.
std::string resume_command(const std::string& out) {
  const size_t at = out.rfind("  resume ");
  if (at == std::string::npos) return "";
  const size_t begin = out.find_first_not_of(' ', at + 8);
  return out.substr(begin, out.find('\n', begin) - begin);
}

// Expects that the last iteration was saved and reported, and that the printed command resumes from it.
void expect_resumable(const Runs& runs, const std::string& out) {
  const int last = newest_checkpoint(runs.run("r"));
  EXPECT_EQ(iterations(runs.run("r")), count_to(last));
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "stopped");
  const std::string command = resume_command(out);
  ASSERT_FALSE(command.empty()) << out;
  const std::string target = std::to_string(last + 3);
  const Result result = run_program({"sh", "-c", command + " --max_iterations " + target});
  EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
  EXPECT_EQ(iterations(runs.run("r")), count_to(last + 3));
}

void expect_stop_by(int signal, int exit_code) {
  const Runs runs;
  EndlessRun process(runs);
  process.signal(signal);
  const Result result = expect_exit(process.wait(), exit_code);
  EXPECT_EQ(result.err, "");
  expect_resumable(runs, result.out);
}

TEST_P(Stop, BySigusr1SavesAndExitsWith75) { expect_stop_by(SIGUSR1, 75); }
TEST_P(Stop, BySigusr2SavesAndExitsWith75) { expect_stop_by(SIGUSR2, 75); }
TEST_P(Stop, BySigtermSavesAndExitsWith143) { expect_stop_by(SIGTERM, 143); }
TEST_P(Stop, BySighupSavesAndExitsWith143) { expect_stop_by(SIGHUP, 143); }
TEST_P(Stop, BySigintSavesAndExitsWith130) { expect_stop_by(SIGINT, 130); }

// A task library raises the signal while drl_train loads it: in a rank, or in the drl_train that starts the ranks.
Result raised(const Runs& runs, int signal, bool in_ranks) {
  Process::Variables variables = {{"RAISE", std::to_string(signal)}};
  if (in_ranks) variables["RAISE_IN_RANKS"] = "yes";
  return runs.train(kEndless + Words{"--task_library", built("tests/envs/libraries/libbroken_signal.so")}, variables);
}

TEST_P(Stop, BySigusr1BeforeTheTrainingSavesAfterTheFirstIteration) {
  const Runs runs;
  expect_exit(raised(runs, SIGUSR1, rank_count > 1), 75);
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 1);
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "stopped");
}

TEST_P(Stop, ByAnotherSignalBeforeTheTrainingIsOneError) {
  for (const auto& [signal, exit_code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 143}}) {
    const Runs runs;
    const Result result =
        expect_exit(raised(runs, signal, rank_count > 1), exit_code, {"stopped by ", "before the training began"});
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_FALSE(fs::exists(runs.run("r")));
  }
}

TEST_P(Stop, NotBySighupUnderNohup) {
  const Runs runs;
  EndlessRun process(runs, {}, {}, [] { std::signal(SIGHUP, SIG_IGN); });
  process.signal(SIGHUP);
  const int before = newest_checkpoint(runs.run("r"));
  EXPECT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("r")) > before || !process.running(); }));
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
}

TEST_P(Stop, ByTheFileStopSavesAndRemovesTheFile) {
  const Runs runs;
  EndlessRun process(runs);
  spill(runs.run("r") / "STOP", "");
  const Result result = expect_exit(process.wait(), 75);
  EXPECT_FALSE(fs::exists(runs.run("r") / "STOP"));
  expect_resumable(runs, result.out);
}

TEST_P(Stop, IsAFailureIfTheRunIsRemoved) {
  const Runs runs;
  EndlessRun process(runs);
  fs::rename(runs.run("r"), runs.path() / "elsewhere");
  expect_exit(process.wait(), 1, {"error: ", runs.run("r").string(), "gone"});
  EXPECT_FALSE(fs::exists(runs.run("r")));
}

// One iteration would take minutes, so the process must not wait for its end.
TEST_P(Stop, ByASecondSigintIsImmediate) {
  const Runs runs;
  Process process(
      runs.command("--max_iterations 1000000000 --run_name r --num_envs 4096 --num_steps_per_env 32 "
                   "--ppo.num_learning_epochs 1000"_words));
  ASSERT_TRUE(wait_until([&] { return fs::exists(runs.run("r") / "run.json"); })) << process.err();
  process.signal(SIGINT);
  // Signals that arrive at the same time may be merged, so SIGINT is sent repeatedly.
  EXPECT_TRUE(wait_until([&] { return process.signal(SIGINT), !process.running(); }, 20));
  EXPECT_EQ(process.wait().exit_code, 130);
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 0);
}

// The run has ended, but a fake `nice`, which drl_train runs to record the video, never ends. (Open MPI's mpirun first
// searches its own directory and finds the real `nice`; then the video takes seconds.)
TEST_P(Stop, CancelsTheLastVideo) {
  const Runs runs;
  const TempFolder bin;
  const fs::path started = bin / "started";
  write_program(bin / "nice", "echo $$ > '" + started.string() + ".new'\nmv '" + started.string() + ".new' '" +
                                  started.string() + "'\nexec sleep 1000");
  Process process(runs.command("--run_name cancelled --max_iterations 2 --video_interval 1"_words),
                  {{"PATH", bin.path().string() + ":" + getenv("PATH")}});
  const auto waits = [&] {
    return process.out().find("done at iteration 2") != std::string::npos && (rank_count > 1 || fs::exists(started));
  };
  ASSERT_TRUE(wait_until([&] { return waits() || !process.running(); })) << process.err();
  if (process.running()) process.signal(SIGTERM);
  const Result result = process.wait();
  if (result.exit_code == 2 && !can_record_videos()) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 143) << result.err;
  expect_mentions(result.err, {"warning: ", "--video_interval", "iter_000002.h5", "stop was requested"});
  if (fs::exists(started)) {
    // Where ffmpeg is present, `nice` is a grandchild of drl_train, and init reaps it some time after it was killed.
    EXPECT_TRUE(wait_until([&] { return kill(std::stoi(slurp(started)), 0) == -1; }, 20)) << "it is still running";
  }
  EXPECT_EQ(run_json(runs.run("cancelled")).at("status"), "done");
  for (const auto& entry : fs::directory_iterator(runs.run("cancelled") / "checkpoints"))
    EXPECT_EQ(entry.path().extension(), ".h5");
}

TEST(StopOnOneRank, ByTheTargetRewardIsASuccess) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --target_reward -1000"_words), 0);
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "target reached");
  EXPECT_LT(iterations(runs.run("r")).size(), 150u);
}

using StopOnTwoRanks = OnTwoRanks;

TEST_F(StopOnTwoRanks, ByTheGateIsASuccess) {
  const Runs runs("Ladder");
  const Words command = kWithTestTasks + "--run_name r --max_iterations 9 --gate --gate_interval 3"_words;
  expect_exit(runs.train(command), 0);
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "gate passed");
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 3);
  expect_exit(runs.train(command), 0);  // there is nothing more to do
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 3);
  const Result judged = expect_exit(run_program(Words{kEval, "--run", runs.run("r"), "--gate"} + kWithTestTasks), 0);
  expect_mentions(judged.out, {"return 6", "gate passed"});
}

TEST_F(StopOnTwoRanks, BySigusr1BeforeTheRanksAreStartedWaitsForThem) {
  const Runs runs;
  expect_exit(raised(runs, SIGUSR1, false), 75);
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 1);
}

TEST_F(StopOnTwoRanks, ByASignalBeforeTheRanksAreStartedSaysSo) {
  for (const auto& [signal, exit_code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    const Runs runs;
    const Result result =
        expect_exit(raised(runs, signal, false), exit_code, {"stopped by ", "before the training began"});
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    EXPECT_FALSE(fs::exists(runs.path()));
  }
}

void expect_all_end_when_one_is_killed(int rank) {
  const Runs runs;
  EndlessRun process(runs);
  runs.signal_rank(rank, SIGKILL);
  expect_exit(process.wait(20), 128 + SIGKILL, {"error: ", "signal 9"});
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
}

TEST_F(StopOnTwoRanks, DeadRankEndsTheOthers) {
  expect_all_end_when_one_is_killed(0);
  expect_all_end_when_one_is_killed(1);
}

void expect_the_run_ends_when_one_is_stopped(int rank) {
  const Runs runs;
  EndlessRun process(runs, "--comm_timeout 2"_words);
  runs.signal_rank(rank, SIGSTOP);
  expect_exit(process.wait(60), 1,
              {"error: ", "no answer from rank " + std::to_string(rank), "stopped", "--comm_timeout"});
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
}

TEST_F(StopOnTwoRanks, StoppedRankEndsTheRunAndIsNamed) {
  expect_the_run_ends_when_one_is_stopped(0);
  expect_the_run_ends_when_one_is_stopped(1);
}

// The ranks of a suspended job (scontrol suspend) stop and go on together.
TEST_F(StopOnTwoRanks, StoppedRanksGoOnTogether) {
  const Runs runs;
  EndlessRun process(runs, "--comm_timeout 2"_words);
  for (const int rank : {0, 1}) runs.signal_rank(rank, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  const int before = newest_checkpoint(runs.run("r"));
  for (const int rank : {1, 0}) runs.signal_rank(rank, SIGCONT);
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("r")) > before; })) << process.err();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 143);
}

// Without mpirun, ranks cannot end; and with a full pipe, they cannot go on.
TEST_F(StopOnTwoRanks, StoppedLauncherContinuesInOrderToEnd) {
  const Runs runs;
  EndlessRun process(runs);
  const std::string stat = slurp("/proc/" + std::to_string(runs.processes("_RANK=").front()) + "/stat");
  const pid_t mpirun = std::stoi(stat.substr(stat.rfind(") ") + 4));  // the parent
  ASSERT_EQ(::kill(mpirun, SIGSTOP), 0);
  EXPECT_TRUE(wait_until([&] { return process.err().find("mpirun (process ") != std::string::npos; })) << process.err();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(60).exit_code, 143);
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "stopped");
}

// Rank 1 has too little memory for the rollout and throws std::bad_alloc while rank 0 waits for it.
TEST_F(StopOnTwoRanks, FailingRankEndsTheOthersAndIsNamed) {
#ifdef DRL_SANITIZER
  GTEST_SKIP() << "the sanitizer reserves terabytes of addresses, which this test limits";
#endif
  const Runs runs;
  const std::string limited = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || ulimit -v 2000000; exec \"$@\"";
  const Words program = Words{kTrain, "--runs_dir", runs.path()} +
                        "--task Cartpole --num_envs 8192 --num_steps_per_env 8192 --max_iterations 1"_words;
  expect_exit(run_program(mpirun(2) + Words{"bash", "-c", limited, "bash"} + program), 1,
              {"error: [rank 1 on ", "memory", "--num_envs"});
}

// Returns the states of the ranks, such as {'S', 'R'}; T means stopped.
std::string states(const Runs& runs) {
  std::string all;
  for (const pid_t pid : runs.processes("_RANK="))  // OMPI_COMM_WORLD_RANK or PMI_RANK
    if (const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat"); stat.find(") ") != std::string::npos)
      all += stat[stat.rfind(") ") + 2];
  return all;
}

// Ctrl-Z in a terminal.
TEST_F(StopOnTwoRanks, BySigtstpPausesAllRanks) {
  const Runs runs;
  EndlessRun process(runs);
  process.signal(SIGTSTP);
  EXPECT_TRUE(wait_until([&] { return states(runs) == "TT"; })) << states(runs);
  process.signal(SIGCONT);
  EXPECT_TRUE(wait_until([&] { return states(runs).find('T') == std::string::npos; })) << states(runs);
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
}

// mpirun forwards SIGUSR1. (On SIGTERM it kills its ranks a second later.)
TEST_F(StopOnTwoRanks, BySigusr1ToMpirunReachesTheRanks) {
  const Runs runs;
  const Words program = {kTrain, "--task",     "Cartpole", "--num_envs", "16", "--num_steps_per_env",
                         "4",    "--runs_dir", runs.path()};
  Process process(mpirun(2) + program + kEndless);
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("r")) > 0; })) << process.err();
  process.signal(SIGUSR1);
  const Result result = expect_exit(process.wait(), 75);
  expect_rows_up_to_checkpoint(runs.run("r"));
  EXPECT_TRUE(resume_command(result.out).starts_with("mpirun -n 2 " + kTrain)) << result.out;
}

}  // namespace
}  // namespace drl::test
