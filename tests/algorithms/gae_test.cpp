#include "learn/gae.hpp"

#include <gtest/gtest.h>

#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

// gamma = 0.5, lambda = 0.5, four steps of three environments: one that runs through, one that terminates at step 1,
// one that is truncated at step 1 (its reward holds gamma V(final) already). By hand, from the last step back:
//   delta_t = r_t + 0.5 V_{t+1} - V_t (no V_{t+1} where it ended),  A_t = delta_t + 0.25 A_{t+1} (no A_{t+1} there)
TEST(Gae, HandComputed) {
  Rollout r(gaussian_task(1, 1), 4, 3);
  const float reward[4][3] = {{1, 1, 1}, {2, 2, 5}, {0, 0, 0}, {4, 4, 4}};
  const float value[5][3] = {{2, 2, 2}, {4, 4, 4}, {6, 6, 6}, {8, 8, 8}, {2, 2, 2}};
  std::copy_n(reward[0], 12, r.reward.data());
  std::copy_n(value[0], 15, r.value.data());
  r.terminated[1 * 3 + 1] = 1;
  r.truncated[1 * 3 + 2] = 1;
  generalized_advantages(r, 0.5f, 0.5f);
  // delta, through: 1+2-2=1, 2+3-4=1, 0+4-6=-2, 4+1-8=-3. A_3=-3, A_2=-2-0.75=-2.75, A_1=1-0.6875, A_0=1+0.078125
  // ended: delta_1 = 2-4 = -2 and 5-4 = 1, and A_1 = delta_1; A_0 = 1 + 0.25 A_1.
  const float advantage[4][3] = {{1.078125f, 0.5f, 1.25f}, {0.3125f, -2, 1}, {-2.75f, -2.75f, -2.75f}, {-3, -3, -3}};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(r.advantage[i], advantage[i / 3][i % 3]) << "step " << i / 3 << ", environment " << i % 3;
    EXPECT_EQ(r.return_target[i], advantage[i / 3][i % 3] + value[i / 3][i % 3]);
  }
}

// The definition, eq. 16 of the paper: A_t = sum over l of (gamma lambda)^l delta_{t+l}, to the end of the episode.
double advantage_by_definition(const Rollout& r, int64_t t, int64_t env, double gamma, double lam) {
  double sum = 0;
  for (int64_t s = t; s < r.num_steps; ++s) {
    const int64_t i = s * r.num_envs + env;
    const bool ended = r.terminated[i] || r.truncated[i];
    const double next = ended ? 0 : gamma * r.value[i + r.num_envs];
    sum += std::pow(gamma * lam, static_cast<double>(s - t)) * (r.reward[i] + next - r.value[i]);
    if (ended) break;
  }
  return sum;
}

TEST(Gae, IsTheSumOfItsDefinition) {
  Random random(1);
  Rollout r(gaussian_task(1, 1), 32, 37);
  fill_random(r, random);
  fill_uniform(r.reward, random, -1, 1);
  for (uint8_t& ended : r.terminated) ended = random() % 16 == 0;
  for (uint8_t& ended : r.truncated) ended = random() % 16 == 0;
  generalized_advantages(r, 0.99f, 0.95f);
  for (int64_t i = 0; i < r.samples(); ++i) {
    const double expected = advantage_by_definition(r, i / r.num_envs, i % r.num_envs, 0.99, 0.95);
    EXPECT_NEAR(r.advantage[i], expected, 1e-5);
    EXPECT_NEAR(r.return_target[i], expected + r.value[i], 1e-5);
  }
}

TEST(Gae, LambdaZeroIsTheTdErrorAndLambdaOneTheReturn) {
  Random random(2);
  Rollout r(gaussian_task(1, 1), 8, 3);
  fill_random(r, random);
  fill_uniform(r.reward, random, -1, 1);
  generalized_advantages(r, 0.9f, 0.0f);
  for (int64_t i = 0; i < r.samples(); ++i)
    EXPECT_NEAR(r.advantage[i], r.reward[i] + 0.9 * r.value[i + 3] - r.value[i], 1e-6);
  generalized_advantages(r, 0.9f, 1.0f);
  for (int64_t env = 0; env < 3; ++env) {
    double discounted = r.value[8 * 3 + env];  // V(s_8), then backwards r + gamma *
    for (int64_t t = 8; t-- > 0;) discounted = r.reward[t * 3 + env] + 0.9 * discounted;
    EXPECT_NEAR(r.return_target[env], discounted, 1e-5);
  }
}

}  // namespace
}  // namespace drl
