// The README's example of a task is a whole one: its text is that of the header compiled here.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "double_integrator.hpp"
#include "envs/cpu_vec_env.hpp"
#include "algorithms/rollout.hpp"

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
  CpuVecEnv<DoubleIntegrator> envs({.num_envs = 8, .first_global_index = 0, .seed = 1, .random_start_ages = false});
  constexpr int kSteps = 20;
  Rollout rollout(envs.spec(), kSteps, 8);
  std::fill(rollout.env_action.begin(), rollout.env_action.end(), 1.0f);
  envs.reset(rollout.start_row());
  for (int t = 0; t < kSteps; ++t) envs.step(t, rollout.row(t));
  for (int env = 0; env < 8; ++env) {
    const double x0 = rollout.obs[env * 2], v0 = rollout.obs[env * 2 + 1], n = kSteps, dt = 0.05;
    EXPECT_NEAR(rollout.obs[(kSteps * 8 + env) * 2], x0 + n * dt * v0 + dt * dt * n * (n + 1) / 2, 1e-5);
    EXPECT_NEAR(rollout.obs[(kSteps * 8 + env) * 2 + 1], v0 + n * dt, 1e-5);
  }
}

}  // namespace
}  // namespace drl
