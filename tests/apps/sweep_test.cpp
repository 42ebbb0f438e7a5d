// drl_sweep trains real trials.
#include <fstream>
#include <map>
#include <set>

#include "programs.hpp"

namespace drl::test {
namespace {

const std::string kSweep = bin("drl_sweep");

class SweepTest : public testing::Test {
 protected:
  Words command(const std::string& name, const std::string& space, const Words& more, int iterations) const {
    std::ofstream(folder / "space.ini") << space;
    return Words{kSweep,   "--space", folder / "space.ini", "--runs_dir", folder.path(),
                 "--name", name,      "--parallel",         "2"} +
           more + "-- --task CartPole-v1 --num_envs 16 --num_steps_per_env 32 --save_interval 20"_words +
           iterations_of(iterations);
  }
  fs::path run(const std::string& name, const std::string& trial) const {
    return folder / name / "CartPole-v1" / trial;
  }
  // Returns the rows of sweep.csv by run: rank, run, iterations, objective, values.
  std::map<std::string, Words> rows(const std::string& name) const {
    std::map<std::string, Words> all;
    const Words lines = split(slurp(folder / name / "sweep.csv"), '\n');
    for (size_t k = 1; k + 1 < lines.size(); ++k)
      EXPECT_TRUE(all.emplace(split(lines[k], ',').at(1), split(lines[k], ',')).second) << lines[k];
    return all;
  }
  static std::string best(const std::map<std::string, Words>& rows) {
    for (const auto& [run, cells] : rows)
      if (cells.at(0) == "1") return run;
    return "";
  }
  static bool is_done(const fs::path& run) {
    return fs::exists(run / "run.json") && run_json(run).at("status") == "done";
  }
  // Returns the process of drl_train that trains this run, 0 if there is none.
  pid_t trainer_of(const std::string& trial) const {
    for (const auto& entry : fs::directory_iterator("/proc"))
      if (const std::string words = slurp(entry.path() / "cmdline");
          words.find("drl_train") != std::string::npos && words.find("--run_name=" + trial) != std::string::npos &&
          words.find(folder.path().string()) != std::string::npos)
        return std::stoi(entry.path().filename());
    return 0;
  }
  TempFolder folder;
};

const std::string kRates = "[ppo]\nlearning_rate = log 1e-4 1e-2\nentropy_coef = uniform 0 0.01\n";

// A trial is killed, and then drl_sweep. Both sweeps have the same trials with the same results, and each trial has
// trained each iteration once.
TEST_F(SweepTest, GoesOnAfterKillsWithoutRepeatingTrials) {
  const Words more = {"--trials", "6"};
  expect_exit(Process(command("whole", kRates, more, 100)).wait(100), 0);
  Process killed(command("killed", kRates, more, 100));
  ASSERT_TRUE(wait_until([&] { return is_done(run("killed", "trial_000")) && is_done(run("killed", "trial_001")); }));
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(run("killed", "trial_002")) >= 20; }));
  const pid_t trainer = trainer_of("trial_002");
  ASSERT_GT(trainer, 0);
  ::kill(trainer, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return run_json(run("killed", "trial_002")).at("starts") == 2; }));
  killed.signal(SIGKILL);
  killed.wait();
  const auto first_end = fs::last_write_time(run("killed", "trial_000") / "run.json");
  const Result result = Process(command("killed", kRates, more, 100)).wait(100);
  expect_exit(result, 0);
  EXPECT_EQ(result.out.find("trial_000  100 iterations"), std::string::npos) << "it was done";
  EXPECT_EQ(fs::last_write_time(run("killed", "trial_000") / "run.json"), first_end);
  EXPECT_EQ(slurp(folder / "killed" / "sweep.csv"), slurp(folder / "whole" / "sweep.csv"));
  ASSERT_EQ(rows("killed").size(), 6u);
  for (const auto& [trial, cells] : rows("killed")) {
    EXPECT_EQ(iterations(run("killed", trial)), count_to(100)) << trial;
    EXPECT_EQ(metrics(run("killed", trial)), metrics(run("whole", trial))) << trial;
  }
  const Words again = {kTrain,       "--config", folder / "whole" / "best.ini", "--runs_dir", folder / "again",
                       "--run_name", "best"};
  expect_exit(run_program(again), 0);
  EXPECT_EQ(metrics(folder / "again" / "CartPole-v1" / "best"), metrics(run("whole", best(rows("whole")))));
}

TEST_F(SweepTest, StopsItsTrialsAndGoesOn) {
  const Words words = command("s", kRates, {"--trials", "3"}, 400);
  Process process(words);
  ASSERT_TRUE(wait_until([&] { return newest_checkpoint(run("s", "trial_001")) >= 20; }));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 143);
  EXPECT_NE(run_json(run("s", "trial_000")).at("status"), "running");
  EXPECT_EQ(run_json(run("s", "trial_001")).at("status"), "stopped");
  expect_exit(Process(words).wait(100), 0);
  EXPECT_EQ(rows("s").size(), 3u);
  for (const auto& [trial, cells] : rows("s")) EXPECT_EQ(iterations(run("s", trial)), count_to(400)) << trial;
  expect_error(run_program(command("s", kRates, {"--trials", "4"}, 400)), {"trials", "3", "4", "--name"});
}

// Only one of these learning rates teaches anything.
TEST_F(SweepTest, AshaFindsTheBestWithFewIterations) {
  const std::string space = "[ppo]\nlearning_rate = choose 1e-8 2e-8 3e-8 4e-8 5e-8 6e-8 7e-8 2e-3\n";
  expect_exit(Process(command("a", space, "--method asha --trials 16"_words, 64)).wait(100), 0);
  const auto trials = rows("a");
  ASSERT_EQ(trials.size(), 16u);
  EXPECT_EQ(trials.at(best(trials)).at(4), "2e-3");
  EXPECT_EQ(trials.at(best(trials)).at(2), "64");
  int trained = 0;
  for (const auto& [trial, cells] : trials) trained += iterations(run("a", trial)).back();
  EXPECT_LE(trained, 0.4 * 16 * 64);
}

// With a factor of 1, the worst member takes the options of the best, too.
TEST_F(SweepTest, PbtChildGoesOnLikeItsParent) {
  expect_exit(Process(command("p", kRates, "--method pbt --trials 4 --interval 10 --perturb 1"_words, 20)).wait(100),
              0);
  std::map<double, std::string> by_objective;
  for (int k = 0; k < 4; ++k) {
    const std::string trial = "trial_00" + std::to_string(k);
    by_objective[column(run("p", trial), "mean_reward").at(9)] = trial;
  }
  const fs::path child = run("p", by_objective.begin()->second + "_g1"),
                 parent = run("p", by_objective.rbegin()->second);
  EXPECT_EQ(iterations(run("p", by_objective.begin()->second)).back(), 10) << "the worst has ended";
  ASSERT_EQ(iterations(child).size(), 10u);
  EXPECT_EQ(datasets(checkpoint_file(child, 20)), datasets(checkpoint_file(parent, 20)));
  const Words all = metrics(parent);
  Words last(all.end() - 10, all.end());
  last.insert(last.begin(), all.front());
  EXPECT_EQ(metrics(child), last);
  EXPECT_EQ(rows("p").size(), 4u);
}

// The sweep ends before the first trial does, with all trials, and can be repeated with the right name.
TEST_F(SweepTest, AnUnknownObjectiveIsFoundEarly) {
  const Words two = {"--trials", "2"};
  const Result wrong = run_program(command("o", kRates, two + Words{"--objective", "mean_rewrd"}, 100000));
  expect_exit(wrong, 2, {"mean_rewrd", "mean_reward"});
  for (const char* trial : {"trial_000", "trial_001"}) EXPECT_EQ(trainer_of(trial), 0);
  expect_exit(run_program(command("o", kRates, two, 20)), 0);
  spill(run("o", "trial_001") / "metrics.csv", "garbage");
  expect_exit(run_program(command("o", kRates, two, 20)), 0, {"trial_001 counts as failed", "metrics.csv"});
  EXPECT_EQ(best(rows("o")), "trial_000");
}

TEST_F(SweepTest, RefusesWhatCannotBeCompared) {
  const auto refused = [&](const Words& more, const std::string& space = kRates) {
    return expect_exit(run_program(command("x", space, {}, 20) + more), 2).err;
  };
  expect_mentions(refused({"--target_reward", "9"}), {"--target_reward"});
  expect_mentions(refused({"--list_tasks"}), {"--list_tasks"});
  expect_mentions(refused({}, "ppo.learning_rate = choose 0.1 0.2\n[ppo]\nlearning-rate = choose 0.3 0.4\n"),
                  {"space.ini:3", "line 1 already"});
  EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST_F(SweepTest, ATrialThatFailsIsCountedOnce) {
  std::ofstream(folder / "space.ini") << "seed = choose 1 2\n";
  const Words words = Words{kSweep, "--space", folder / "space.ini", "--runs_dir",   folder.path(), "--method", "grid",
                            "--",   "--task",  "Diverging",          "--nan_policy", "stop"} +
                      kWithTestTasks;
  expect_exit(run_program(words), 1, {"trial_000", "trial_001", "no trial has a mean_reward"});
  const Result again = run_program(words);
  expect_exit(again, 1, {"no trial has a mean_reward"});
  EXPECT_EQ(again.err.find("starts again"), std::string::npos);
}

}  // namespace
}  // namespace drl::test
