// drl_sweep in jobs: its trials are steps on the nodes.
#include <fstream>
#include <set>

#include "batch.hpp"

namespace drl::test {
namespace {

class SweepInJob : public BatchTest {
 protected:
  // Only one of these learning rates teaches anything.
  Words command(const Words& more, int iterations) const {
    std::ofstream(folder / "space.ini") << "[ppo]\nlearning_rate = choose 1e-8 2e-8 3e-8 4e-8 5e-8 6e-8 7e-8 2e-3\n";
    return Words{bin("drl_sweep"), "--space", folder / "space.ini", "--runs_dir", folder.path(), "--name", "s"} + more +
           "-- --task CartPole-v1 --device cpu --num_envs 16 --num_steps_per_env 32 --save_interval 20"_words +
           iterations_of(iterations);
  }
  fs::path run(const std::string& trial) const { return folder / "s" / "CartPole-v1" / trial; }
  // Returns the lines of sweep.csv without the header.
  std::vector<Words> rows() const {
    std::vector<Words> all;
    for (const std::string& line : split(slurp(folder / "s" / "sweep.csv"), '\n'))
      if (!line.empty() && !line.starts_with("rank")) all.push_back(split(line, ','));
    return all;
  }
  // Expects that each trial is there once, that it trained each iteration once, and that the best is the one known.
  void expect_each_trial_once(size_t trials) const {
    std::set<std::string> names;
    for (const Words& row : rows()) {
      names.insert(row.at(1));
      EXPECT_EQ(iterations(run(row.at(1))), count_to(std::stoi(row.at(2)))) << row.at(1);
    }
    EXPECT_EQ(rows().size(), trials);
    EXPECT_EQ(names.size(), trials);
    EXPECT_EQ(rows().at(0).at(4), "2e-3");
  }
  // Returns whether a trial is training on the node.
  bool trains_on(const std::string& node) const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / "s" / "CartPole-v1", error))
      if (const auto facts = nlohmann::json::parse(slurp(entry.path() / "run.json"), nullptr, false);
          facts.is_object() && facts.at("status") == "running" && facts.at("hosts") == nlohmann::json({node}))
        return true;
    return false;
  }
};

TEST_F(SweepInJob, FindsTheBestAlthoughANodeDies) {
  const std::string log = folder / "log";
  const std::string job = submit({"--no-kill", "-N2", "-n8", "--ntasks-per-node=4", "-o", log, "--wrap",
                                  shell_line(command("--method asha --trials 24"_words, 400))});
  ASSERT_TRUE(
      wait_until([&] { return slurp(log).find("; 4 trials)") != std::string::npos && trains_on("node2"); }, kLong))
      << slurp(log);
  expect_exit(run_for_long({test_data("slurm/cluster"), "down", "node2"}), 0);
  ASSERT_TRUE(wait_for_end(job)) << slurp(log);
  expect_exit(run_for_long({test_data("slurm/cluster"), "up", "node2"}), 0);
  EXPECT_EQ(job_field(job, "ExitCode"), "0:0") << slurp(log);
  expect_mentions(slurp(log), {"node2 does not answer", "8 trials at a time"});
  expect_each_trial_once(24);
}

TEST_F(SweepInJob, StopsForRequeueingAndGoesOn) {
  const std::string log = folder / "log";
  const Words words = Words{"-N2",
                            "-n4",
                            "--ntasks-per-node=2",
                            "-o",
                            log,
                            "--wrap",
                            "exec " + shell_line(command("--trials 16 --ranks_per_trial 2"_words, 100))};
  const std::string first = submit(words);
  ASSERT_TRUE(wait_until([&] { return trains_on("node1") && trains_on("node2"); }, kLong)) << slurp(log);
  expect_exit(run_for_long({"scancel", "--batch", "--signal=USR1", first}), 0);
  ASSERT_TRUE(wait_for_end(first)) << slurp(log);
  EXPECT_EQ(job_field(first, "ExitCode"), "75:0") << slurp(log);
  const Result status = run_program({bin("drl_status"), "--json", folder.path().string()});
  EXPECT_EQ(status.out.find("\"running\""), std::string::npos) << status.out;
  const std::string second = submit(words);
  ASSERT_TRUE(wait_for_end(second)) << slurp(log);
  EXPECT_EQ(job_field(second, "ExitCode"), "0:0") << slurp(log);
  expect_each_trial_once(16);
}

// A run whose job is pending again is waiting, in drl_status.
TEST_F(SweepInJob, StatusShowsWhatWaits) {
  const Words train = {bin("drl_train"), "--runs_dir", folder / "runs", "--run_name",       "r",         "--task",
                       "CartPole-v1",    "--device",   "cpu",           "--max_iterations", "100000000", "--quiet"};
  const std::string job = submit({"-N1", "-n1", "-o", "/dev/null", "--requeue", "--wrap", "exec " + shell_line(train)});
  const fs::path run = folder / "runs" / "CartPole-v1" / "r";
  ASSERT_TRUE(wait_until([&] { return fs::exists(run / "metrics.csv"); }, kLong));
  const auto status = [&] { return output_of({bin("drl_status"), (folder / "runs").string()}); };
  expect_mentions(status(), {"1 running", job.c_str()});
  expect_exit(run_for_long({"scontrol", "requeuehold", job}), 0);
  ASSERT_TRUE(wait_until([&] { return status().find("1 waiting") != std::string::npos; }, kLong)) << status();
  expect_mentions(status(), {"job " + job + " is PENDING"});
}

}  // namespace
}  // namespace drl::test
