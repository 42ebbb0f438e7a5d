// --max_restarts: the ranks are started again after one of them has died.
#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

class RestartsOnTwoRanks : public OnTwoRanks {
 protected:
  const Runs runs;
};

// Kills a rank when there is a checkpoint of `iteration` or a later one.
void kill_after(const Runs& runs, int iteration, int rank) {
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("r")) >= iteration; }));
  runs.signal_rank(rank, SIGKILL);
}

TEST_F(RestartsOnTwoRanks, ContinueFromTheLastCheckpointWithTheSameBits) {
  const Words options =
      "--max_iterations 400 --ppo.schedule fixed --save_interval 20 --num_envs 64 --quiet "
      "--keep_checkpoints 1000 --max_restarts 3"_words;
  expect_exit(runs.train(options + "--run_name whole"_words), 0);
  Process process(runs.command(options + "--run_name r"_words));
  kill_after(runs, 40, 1);
  const int then = newest_checkpoint(runs.run("r"));
  ASSERT_TRUE(wait_until([&] { return process.err().find("(restart 1 of 3)") != std::string::npos; }));
  kill_after(runs, then + 40, 0);
  const Result result = expect_exit(process.wait(), 0, {"signal 9", "starting 2 ranks again", "(restart 2 of 3)"});
  EXPECT_EQ(datasets(checkpoint_file(runs.run("r"), 400)), datasets(checkpoint_file(runs.run("whole"), 400)));
  EXPECT_EQ(metrics(runs.run("r")), metrics(runs.run("whole")));
  const nlohmann::json facts = run_json(runs.run("r"));
  EXPECT_EQ(facts.at("starts"), 3);
  ASSERT_EQ(facts.at("restarted_after").size(), 2u);
  const std::string first = facts.at("restarted_after").at(0);
  expect_mentions(first, {"signal 9", facts.at("hosts").at(0).get<std::string>(), "from iteration "});
  EXPECT_EQ(std::distance(fs::directory_iterator(runs.path()), {}), 1);  // the file that told the run is gone
}

TEST_F(RestartsOnTwoRanks, DoNotRepeatWhatEndedAtTheSameIteration) {
  expect_exit(runs.train("--run_name r --max_iterations 5"_words), 0);
  Process process(
      runs.command("--run_name r --resume --max_iterations 1000000000 --save_interval 1000000000 "
                   "--ppo.schedule fixed --max_restarts 9"_words));
  for (int start = 2; start <= 3; ++start) {
    ASSERT_TRUE(wait_until([&] { return run_json(runs.run("r")).at("starts") == start; }));
    ASSERT_TRUE(wait_until([&] { return count_lines(slurp(runs.run("r") / "metrics.csv")) > 6; }));
    runs.signal_rank(1, SIGKILL);
  }
  const Result result = expect_exit(process.wait(), 128 + SIGKILL, {"not starting again", "from iteration 5"});
  EXPECT_EQ(run_json(runs.run("r")).at("starts"), 3);
}

// All ranks agree on a wrong option, and on a lost environment with --nan_policy stop.
TEST_F(RestartsOnTwoRanks, AreNotForErrorsThatAllRanksHave) {
  expect_error(runs.train("--max_restarts 3 --num_envs_total 33"_words), {"33"});
  const Runs losing("Breaking");
  const Result lost = expect_exit(
      losing.train(kWithTestTasks + Words{"--task_library", built("tests/envs/libraries/libtest_faulty.so")} +
                   "--run_name r --save_interval 1 --max_restarts 3 --nan_policy stop"_words),
      1, {"--nan_policy stop"});
  EXPECT_EQ(lost.err.find("again"), std::string::npos) << lost.err;
  EXPECT_EQ(run_json(losing.run("r")).at("starts"), 1);
}

// A rank dies while the others save in order to stop.
TEST_F(RestartsOnTwoRanks, DoNotFollowARequestToStop) {
  EndlessRun process(runs, "--max_restarts 3"_words);
  runs.signal_rank(1, SIGSTOP);  // so that the stop waits for it
  process.signal(SIGTERM);       // continues the rank
  runs.signal_rank(1, SIGKILL);
  const Result result = process.wait();
  EXPECT_TRUE(result.exit_code == 143 || result.exit_code == 128 + SIGKILL) << result.exit_code;
  EXPECT_EQ(result.err.find("again"), std::string::npos) << result.err;
}

// The ranks of a second start, too, end with the process that started them.
TEST_F(RestartsOnTwoRanks, EndWithTheirLauncher) {
  EndlessRun process(runs, "--max_restarts 3"_words);
  runs.signal_rank(1, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return run_json(runs.run("r")).at("starts") == 2; }));
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
}

TEST_F(RestartsOnTwoRanks, LeaveTheRanksAloneWhenTheyAreStopped) {
  EndlessRun process(runs, "--max_restarts 3"_words);
  process.signal(SIGTERM);
  const Result result = expect_exit(process.wait(), 143);
  EXPECT_EQ(result.err.find("again"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace drl::test
