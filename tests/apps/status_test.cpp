// drl_status shows what real runs are doing.
#include <fstream>

#include "programs.hpp"

namespace drl::test {
namespace {

const std::string kStatus = bin("drl_status");

// Returns what `drl_status --json` says about each run, by name.
std::map<std::string, nlohmann::json> states(const Runs& runs) {
  const Result result = run_program({kStatus, "--json", runs.path().string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, nlohmann::json> by_name;
  const nlohmann::json all = nlohmann::json::parse(result.out);
  for (const nlohmann::json& run : all.at("runs")) by_name[run.at("run")] = run;
  return by_name;
}

// The lock decides whether a run lives, whatever run.json says.
TEST(Status, TellsRunningKilledStoppedFailedAndDoneRunsApart) {
  const Runs runs;
  const Words endless = "--max_iterations 100000000 --save_interval 5"_words;
  expect_exit(runs.train({"--run_name", "finished", "--max_iterations", "3"}), 0);
  Process killed(runs.command(Words{"--run_name", "killed"} + endless));
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("killed")) >= 10; }));
  EXPECT_EQ(states(runs).at("killed").at("state"), "running");
  killed.signal(SIGKILL);
  killed.wait();
  Process alive(runs.command(Words{"--run_name", "alive"} + endless));
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("alive")) >= 10; }));
  Process stopped(runs.command(Words{"--run_name", "stopped"} + endless));
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("stopped")) >= 10; }));
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.wait().exit_code, 143);
  const Result failing = run_program(Words{kTrain, "--task", "Diverging", "--runs_dir", runs.path().string(),
                                           "--run_name", "failed", "--nan_policy", "stop"} +
                                     kWithTestTasks);
  ASSERT_EQ(failing.exit_code, 1) << failing.err;
  fs::create_directories(runs.run("broken"));
  std::ofstream(runs.run("broken") / "run.json") << "{ nothing";

  const auto now = states(runs);
  ASSERT_EQ(now.size(), 6u);
  const auto state = [&](const char* name) { return now.at(name).at("state").get<std::string>(); };
  EXPECT_EQ(state("finished"), "done");
  EXPECT_EQ(now.at("finished").at("iteration"), 3);
  EXPECT_EQ(now.at("finished").at("max_iterations"), 3);
  EXPECT_EQ(state("alive"), "running");
  EXPECT_GE(now.at("alive").at("iteration"), 10);
  EXPECT_GT(now.at("alive").at("eta_seconds"), 0);
  EXPECT_EQ(state("killed"), "stopped");
  const std::string end = now.at("killed").at("note");
  const fs::path saved = checkpoint_file(runs.run("killed"), newest_checkpoint(runs.run("killed")));
  expect_mentions(end, {"without saying why", "lock is free", "saved " + saved.stem().string(),
                        "ended at iteration " + std::to_string(iterations(runs.run("killed")).back())});
  EXPECT_EQ(state("stopped"), "stopped");
  EXPECT_EQ(now.at("stopped").at("note"), "");
  EXPECT_EQ(state("failed"), "failed");
  expect_mentions(now.at("failed").at("note").get<std::string>(), {"nan"});
  EXPECT_EQ(state("broken"), "unreadable");
  expect_mentions(now.at("broken").at("note").get<std::string>(), {"run.json"});

  const Result table = run_program({kStatus, runs.path().string()});
  expect_exit(table, 0);
  expect_mentions(table.out, {"6 runs: 1 running, 1 failed, 1 unreadable, 2 stopped, 1 done", "3/3"});
  alive.signal(SIGKILL);
  alive.wait();
}

}  // namespace
}  // namespace drl::test
