// Twenty iterations are twenty iterations, whatever happened in between.
#include <gtest/gtest.h>

#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

struct Case {
  std::string task;
  Words options;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.task; }

class Resume : public testing::TestWithParam<Case> {
 protected:
  Result train(const std::string& run, int iterations) { return runs.train(options(run, iterations)); }
  Words options(const std::string& run, int iterations) const {
    return GetParam().options + Words{"--run_name", run, "--max_iterations", std::to_string(iterations)};
  }
  // Leaves checkpoints up to iteration 14, and later rows in the CSV file as a crash leaves them.
  void kill_past_iteration_14(const std::string& run) {
    Process process(
        runs.command(options(run, 1000000) + Words{"--save_interval", "7", "--keep_checkpoints", "1000000"}));
    ASSERT_TRUE(wait_until([&] { return newest_checkpoint(runs.run(run)) >= 14; })) << process.err();
    runs.kill_rank(0);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
    ASSERT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
    for (int iteration : checkpoints(runs.run(run)))
      if (iteration > 14) fs::remove(checkpoint_file(runs.run(run), iteration));
    ASSERT_GT(newest_checkpoint(runs.run(run)), 0);
  }
  void expect_whole(const std::string& run) const {
    EXPECT_EQ(datasets(checkpoint_file(runs.run(run), 20)), datasets(checkpoint_file(runs.run("whole"), 20)));
    EXPECT_EQ(metrics(runs.run(run)), metrics(runs.run("whole")));
    EXPECT_EQ(iterations(runs.run(run)), count_to(20));
  }

  Runs runs{GetParam().task};
};

TEST_P(Resume, EndsAtTheSameBits) {
  ASSERT_EQ(train("whole", 20).exit_code, 0);

  ASSERT_EQ(train("parts", 9).exit_code, 0);
  ASSERT_EQ(iterations(runs.run("parts")), count_to(9));
  ASSERT_EQ(train("parts", 20).exit_code, 0);
  expect_whole("parts");

  kill_past_iteration_14("killed");
  ASSERT_EQ(train("killed", 20).exit_code, 0);
  expect_whole("killed");
}

INSTANTIATE_TEST_SUITE_P(Tasks, Resume,
                         testing::Values(Case{"Cartpole", {}},  // Gaussian, adaptive learning rate
                                         Case{"CartPole-v1", {"--ppo.obs_normalization", "true"}}),
                         [](const auto& info) { return info.param.task == "Cartpole" ? "Gaussian" : "Categorical"; });

#if RANKS == 1

TEST(ResumeOptions, TargetsCadenceAndReportsDoNotChangeTheNumbers) {
  const Runs runs;
  ASSERT_EQ(runs.train({"--run_name", "a", "--max_iterations", "6"}).exit_code, 0);
  ASSERT_EQ(runs.train({"--run_name", "b", "--max_iterations", "6", "--save_interval", "2", "--eval_interval", "3",
                        "--logger", "none", "--quiet"})
                .exit_code,
            0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("a"), 6)), datasets(checkpoint_file(runs.run("b"), 6)));
  EXPECT_EQ(metrics(runs.run("a")), metrics(runs.run("b")));
}

#endif

}  // namespace
}  // namespace drl::test
