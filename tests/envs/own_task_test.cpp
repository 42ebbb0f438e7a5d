// The README's example of a task is a whole one: its text is that of the header compiled here.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "algorithms/rollout.hpp"
#include "cutting_task.hpp"
#include "double_integrator.hpp"
#include "envs/task_envs.hpp"

namespace drl {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(OwnTask, ReadmeShowsThisHeader) {
  const std::string readme = text_of(DRL_TEST_DATA "/../README.md"),
                    header = text_of(DRL_TEST_DATA "/envs/double_integrator.hpp");
  ASSERT_FALSE(header.empty());
  EXPECT_NE(readme.find("```cpp\n" + header + "```"), std::string::npos);
}

// Under a constant force of 1 N: v_n = v_0 + n dt, x_n = x_0 + n dt v_0 + dt^2 n (n + 1) / 2.
TEST(OwnTask, MovesAsNewtonSays) {
  const auto queue = make_host_queue(available_isas().back());
  TaskEnvs<DoubleIntegrator> envs({.num_envs = 8, .first_global_index = 0, .seed = 1}, *queue);
  constexpr int kSteps = 20;
  const Rollout rollout(*queue, envs.spec(), kSteps, 8);
  const RolloutView& r = rollout.view();
  std::fill_n(r.env_action, 8, 1.0f);
  envs.reset(*queue, rollout.start_row());
  for (int64_t t = 0; t < kSteps; ++t) envs.step(*queue, {&t}, 0, 8, rollout.row(t));
  for (int env = 0; env < 8; ++env) {
    const double x0 = r.obs[env * 2], v0 = r.obs[env * 2 + 1], n = kSteps, dt = 0.05;
    EXPECT_NEAR(r.obs[(kSteps * 8 + env) * 2], x0 + n * dt * v0 + dt * dt * n * (n + 1) / 2, 1e-5);
    EXPECT_NEAR(r.obs[(kSteps * 8 + env) * 2 + 1], v0 + n * dt, 1e-5);
  }
}

TEST(OwnTask, IsFoundByItsNameOnceItIsRegistered) {
  EXPECT_THROW(task_spec("DoubleIntegrator"), UsageError);
  register_task(entry_of<DoubleIntegrator>());
  EXPECT_EQ(task_spec("DoubleIntegrator").obs_dim, 2);
  EXPECT_EQ(task_names().back(), "DoubleIntegrator");
  const auto queue = make_host_queue(available_isas().back());
  EXPECT_EQ(make_env("DoubleIntegrator", {.num_envs = 3}, *queue)->num_envs(), 3);
  EXPECT_THROW(register_task(entry_of<DoubleIntegrator>()), UsageError);
}

// Without a step limit, every third episode's step cuts it: in a rollout of seven steps twice.
TEST(OwnTask, MayCutEpisodesItself) {
  const auto queue = make_host_queue(available_isas().back());
  TaskEnvs<CuttingTask> envs({.num_envs = 5, .first_global_index = 0, .seed = 1, .random_start_ages = true}, *queue);
  const Rollout rollout(*queue, envs.spec(), 7, 5);
  const RolloutView& r = rollout.view();
  envs.reset(*queue, rollout.start_row());
  for (int64_t t = 0; t < 7; ++t) envs.step(*queue, {&t}, 0, 5, rollout.row(t));
  for (int64_t env = 0; env < 5; ++env) {
    EXPECT_EQ(r.last_count[env], 2);
    EXPECT_EQ(r.last_obs[env], 3);
    EXPECT_EQ(r.last_obs[5 + env], 3);
    for (int64_t t = 0; t < 7; ++t) EXPECT_EQ(r.truncated[t * 5 + env], t % 3 == 2);
  }
}

}  // namespace
}  // namespace drl
