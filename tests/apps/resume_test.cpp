// Twenty iterations are twenty iterations, whatever happened in between.
#include <gtest/gtest.h>

#include "programs.hpp"

namespace drl::test {
namespace {

struct Case {
  std::string task;
  Words options;
};

class Resume : public testing::TestWithParam<Case> {
 protected:
  // 20 iterations without a stop, as run "whole".
  void train_whole() { ASSERT_EQ(runs.train(options("whole", 20)).exit_code, 0); }
  Words options(const std::string& run, int iterations) const {
    return GetParam().options + Words{"--run_name", run, "--max_iterations", std::to_string(iterations)};
  }
  void expect_whole(const std::string& run) const {
    EXPECT_EQ(datasets(checkpoint_file(runs.run(run), 20)), datasets(checkpoint_file(runs.run("whole"), 20)));
    EXPECT_EQ(metrics(runs.run(run)), metrics(runs.run("whole")));
    EXPECT_EQ(iterations(runs.run(run)), count_to(20));
  }

  Runs runs{GetParam().task};
};

TEST_P(Resume, EndsAtTheSameBits) {
  train_whole();
  ASSERT_EQ(runs.train(options("parts", 9)).exit_code, 0);
  ASSERT_EQ(iterations(runs.run("parts")), count_to(9));
  ASSERT_EQ(runs.train(options("parts", 20)).exit_code, 0);
  expect_whole("parts");
}

// The rows after the last checkpoint are in the file already when the run dies.
TEST_P(Resume, EndsAtTheSameBitsAfterAKill) {
  train_whole();
  {
    Process process(runs.command(options("killed", 1000000) + Words{"--save_interval", "7", "--keep_checkpoints", "1000000"}));
    ASSERT_TRUE(wait_until([&] { return fs::exists(checkpoint_file(runs.run("killed"), 14)); }));
    runs.kill_rank(0);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  }
  ASSERT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
  for (const auto& entry : fs::directory_iterator(runs.run("killed") / "checkpoints"))
    if (const std::string name = entry.path().filename(); name.size() > 14 || name > "iter_000014.h5") fs::remove(entry.path());
  ASSERT_EQ(runs.train(options("killed", 20)).exit_code, 0);
  expect_whole("killed");
}

INSTANTIATE_TEST_SUITE_P(Tasks, Resume,
                         testing::Values(Case{"Cartpole", {}},  // Gaussian, adaptive learning rate
                                         Case{"CartPole-v1", {"--ppo.obs_normalization", "true"}}),
                         [](const auto& info) { return info.param.task == "Cartpole" ? "Gaussian" : "Categorical"; });

TEST(ResumeOptions, TargetsCadenceAndReportsDoNotChangeTheNumbers) {
  const Runs runs;
  ASSERT_EQ(runs.train({"--run_name", "a", "--max_iterations", "6"}).exit_code, 0);
  ASSERT_EQ(runs.train({"--run_name", "b", "--max_iterations", "6", "--save_interval", "2", "--eval_interval", "3", "--logger", "none",
                        "--quiet"})
                .exit_code,
            0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("a"), 6)), datasets(checkpoint_file(runs.run("b"), 6)));
  EXPECT_EQ(metrics(runs.run("a")), metrics(runs.run("b")));
}

}  // namespace
}  // namespace drl::test
