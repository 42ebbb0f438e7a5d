// Requests to stop, and ranks that die.
#include <gtest/gtest.h>

#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

const Words kEndless = {"--max_iterations", "1000000000", "--run_name", "r", "--save_interval", "10"};

bool is_under_way(const Runs& runs) { return newest_checkpoint(runs.run("r")) > 0; }

// What a user would copy from the last lines.
std::string command_to_go_on(const std::string& out) {
  const size_t at = out.rfind("  go on");
  if (at == std::string::npos) return "";
  const size_t begin = out.find_first_not_of(' ', at + 7);
  return out.substr(begin, out.find('\n', begin) - begin);
}

// The last iteration is saved and reported, and typing what the program says goes on from there.
void expect_to_go_on(const Runs& runs, const std::string& out) {
  const int last = newest_checkpoint(runs.run("r"));
  EXPECT_EQ(iterations(runs.run("r")), count_to(last));
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "stopped");
  const std::string command = command_to_go_on(out);
  ASSERT_FALSE(command.empty()) << out;
  const std::string target = std::to_string(last + 3);
  const Result result = run_program({"sh", "-c", command + " --max_iterations " + target});
  EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
  EXPECT_EQ(iterations(runs.run("r")), count_to(last + 3));
}

void expect_stop_by(int signal, int exit_code) {
  const Runs runs;
  Process process(runs.command(kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(runs); })) << process.err();
  process.signal(signal);
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.err, "");
  expect_to_go_on(runs, result.out);
}

TEST(Stop, Sigusr1IsToBeContinued) { expect_stop_by(SIGUSR1, 75); }
TEST(Stop, Sigterm) { expect_stop_by(SIGTERM, 143); }
TEST(Stop, Sigint) { expect_stop_by(SIGINT, 130); }

TEST(Stop, FileIsToBeContinuedAndGoesAway) {
  const Runs runs;
  Process process(runs.command(kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(runs); })) << process.err();
  spill(runs.run("r") / "STOP", "");
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_FALSE(fs::exists(runs.run("r") / "STOP"));
  expect_to_go_on(runs, result.out);
}

// One iteration would take minutes: only a process that does not wait for its end is gone at once.
TEST(Stop, SecondSigintEndsAtOnce) {
  const Runs runs;
  Process process(runs.command({"--max_iterations", "1000000000", "--run_name", "r", "--num_envs", "4096",
                                "--num_steps_per_env", "32", "--ppo.num_learning_epochs", "1000"}));
  ASSERT_TRUE(wait_until([&] { return fs::exists(runs.run("r") / "run.json"); })) << process.err();
  process.signal(SIGINT);
  // Two requests that arrive as one count as one.
  EXPECT_TRUE(wait_until([&] { return process.signal(SIGINT), !process.running(); }, 20));
  EXPECT_EQ(process.wait().exit_code, 130);
  EXPECT_EQ(newest_checkpoint(runs.run("r")), 0);
}

#if RANKS == 1

TEST(Stop, TargetRewardIsDone) {
  const Runs runs;
  const Result result = runs.train({"--run_name", "r", "--target_reward", "-1000"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "target reached");
  EXPECT_LT(iterations(runs.run("r")).size(), 150u);
}

#else

void expect_all_end_when_one_is_killed(int rank) {
  const Runs runs;
  Process process(runs.command(kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(runs); })) << process.err();
  runs.kill_rank(rank);
  const Result result = process.wait(20);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_NE(result.err.find("error: a rank was ended by signal 9"), std::string::npos) << result.err;
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
}

TEST(DeadRank, EndsTheOthers) {
  expect_all_end_when_one_is_killed(0);
  expect_all_end_when_one_is_killed(1);
}

// Memory for the rollout runs out on rank 1 only: std::bad_alloc there, while rank 0 waits for it.
TEST(FailingRank, EndsTheOthersAndNamesItself) {
  const Runs runs;
  const std::string limited = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || ulimit -v 2000000; exec \"$@\"";
  const Words program = {kTrain,
                         "--task",
                         "Cartpole",
                         "--runs_dir",
                         runs.path().string(),
                         "--num_envs",
                         "8192",
                         "--num_steps_per_env",
                         "8192",
                         "--max_iterations",
                         "1"};
  const Result result =
      run_program(Words{DRL_TEST_DATA "/mpirun_test", DRL_MPIEXEC, "2", "bash", "-c", limited, "bash"} + program);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("error: [rank 1 on "), std::string::npos) << result.err;
}

// mpirun itself passes SIGUSR1 on; it answers SIGTERM by killing its ranks a second later.
TEST(Mpirun, Sigusr1IsToBeContinued) {
  const Runs runs;
  const Words program = {kTrain, "--task",     "Cartpole",          "--num_envs", "16", "--num_steps_per_env",
                         "4",    "--runs_dir", runs.path().string()};
  Process process(Words{DRL_TEST_DATA "/mpirun_test", DRL_MPIEXEC, "2"} + program + kEndless);
  ASSERT_TRUE(wait_until([&] { return is_under_way(runs); })) << process.err();
  process.signal(SIGUSR1);
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_EQ(iterations(runs.run("r")), count_to(newest_checkpoint(runs.run("r"))));
  EXPECT_TRUE(command_to_go_on(result.out).starts_with("mpirun -n 2 " + kTrain)) << result.out;
}

#endif

}  // namespace
}  // namespace drl::test
