#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "algorithms/reward_normalizer.hpp"

namespace drl {
namespace {

using namespace test;

// A rollout [T, N]: rewards, values, ends of episodes, and the values of the last observations of truncated episodes.
struct Example {
  Example(int64_t steps, int64_t envs) : T(steps), N(envs) {
    for (auto* numbers : {&reward, &last_values}) numbers->resize(static_cast<size_t>(T * N));
    value.resize(static_cast<size_t>((T + 1) * N));
    for (auto* flags : {&terminated, &truncated}) flags->resize(static_cast<size_t>(T * N));
    last_count.resize(static_cast<size_t>(N));
  }
  Example(int64_t steps, int64_t envs, uint64_t seed) : Example(steps, envs) {
    Random random(seed);
    for (auto* numbers : {&reward, &last_values, &value}) fill_uniform(*numbers, random, -1, 1);
    for (size_t i = 0; i < terminated.size(); ++i) {
      terminated[i] = random() % 16 == 0;
      truncated[i] = !terminated[i] && random() % 8 == 0;
      last_count[i % static_cast<size_t>(N)] += truncated[i];
    }
  }
  // Computes shaped_reward (scaled, and with the value of the last observation), advantage and return_target.
  void run(float gamma, float lam, float reward_scale = 1, const NormalizerView& reward_normalizer = {}) {
    const auto size = static_cast<size_t>(T * N);
    const std::vector<float> all = in_every_way([&](const Loops& loops) {
      std::vector<float> out(3 * size);
      std::copy(reward.begin(), reward.end(), out.begin());
      RolloutView r{};
      r.num_steps = T, r.num_envs = N, r.last_count = last_count.data(), r.value = value.data();
      r.terminated = terminated.data(), r.truncated = truncated.data();
      r.reward = out.data(), r.advantage = r.reward + size, r.return_target = r.advantage + size;
      loops(N, Advantages{r, gamma, lam, reward_scale, last_values.data(), reward_normalizer});
      return out;
    });
    shaped_reward.assign(all.begin(), all.begin() + size);
    advantage.assign(all.begin() + size, all.begin() + 2 * size);
    return_target.assign(all.begin() + 2 * size, all.end());
  }

  int64_t T, N;
  std::vector<float> reward, value, last_values, shaped_reward, advantage, return_target;
  std::vector<uint8_t> terminated, truncated;
  std::vector<int32_t> last_count;
};

// gamma = 0.5 and lambda = 0.5, for four steps of three environments. The episode of the first continues, that of the
// second terminates at step 1, and that of the third is truncated at step 1, where V of its last observation is 6. By
// hand, backwards from the last step:
//   delta_t = r_t + 0.5 V_{t+1} - V_t,  A_t = delta_t + 0.25 A_{t+1}, without V_{t+1} and A_{t+1} where an episode
//   ended
TEST(Gae, EqualsAHandComputedExample) {
  Example e(4, 3);
  e.reward = {1, 1, 1, 2, 2, 2, 0, 0, 0, 4, 4, 4};
  e.value = {2, 2, 2, 4, 4, 4, 6, 6, 6, 8, 8, 8, 2, 2, 2};
  e.terminated[1 * 3 + 1] = 1;
  e.truncated[1 * 3 + 2] = 1;
  e.last_count[2] = 1;
  e.last_values[2] = 6;
  e.run(0.5f, 0.5f);
  // delta of the first: 1+2-2=1, 2+3-4=1, 0+4-6=-2, 4+1-8=-3. A_3=-3, A_2=-2-0.75=-2.75, A_1=1-0.6875, A_0=1+0.078125
  // the others: delta_1 = 2-4 = -2 and 2+3-4 = 1, and A_1 = delta_1; A_0 = 1 + 0.25 A_1.
  const float advantage[4][3] = {{1.078125f, 0.5f, 1.25f}, {0.3125f, -2, 1}, {-2.75f, -2.75f, -2.75f}, {-3, -3, -3}};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(e.advantage[i], advantage[i / 3][i % 3]) << "step " << i / 3 << ", environment " << i % 3;
    EXPECT_EQ(e.return_target[i], advantage[i / 3][i % 3] + e.value[i]);
    EXPECT_EQ(e.shaped_reward[i], e.reward[i] + (i == 5 ? 3 : 0));
  }
}

// Returns the advantage by its definition, eq. 16 of the paper: the sum over l of (gamma lambda)^l delta_{t+l} up to
// the end of the episode. At the environment's k-th truncation, the next value is that of the last observation, which
// is in row k of last_values.
double advantage_by_definition(const Example& e, int64_t t, int64_t env, double gamma, double lam,
                               double reward_scale) {
  int64_t truncations = 0;
  for (int64_t s = 0; s < t; ++s) truncations += e.truncated[s * e.N + env];
  double sum = 0;
  for (int64_t s = t; s < e.T; ++s) {
    const int64_t i = s * e.N + env;
    const bool ended = e.terminated[i] || e.truncated[i];
    const double next = e.truncated[i]    ? e.last_values[truncations * e.N + env]
                        : e.terminated[i] ? 0
                                          : e.value[i + e.N];
    sum += std::pow(gamma * lam, static_cast<double>(s - t)) * (reward_scale * e.reward[i] + gamma * next - e.value[i]);
    if (ended) break;
  }
  return sum;
}

TEST(Gae, EqualsItsDefinition) {
  for (float reward_scale : {1.0f, 3.0f}) {
    Example e(32, 37, 1);
    EXPECT_GT(*std::max_element(e.last_count.begin(), e.last_count.end()), 3);
    e.run(0.99f, 0.95f, reward_scale);
    for (int64_t i = 0; i < e.T * e.N; ++i) {
      const double expected = advantage_by_definition(e, i / e.N, i % e.N, 0.99, 0.95, reward_scale);
      EXPECT_NEAR(e.advantage[i], expected, 1e-5 * reward_scale);
      EXPECT_NEAR(e.return_target[i], expected + e.value[i], 1e-5 * reward_scale);
    }
  }
}

// Rewards -3, 1, 8 divided by 2 and clipped at 3 are -1.5, 0.5, 3, which are then multiplied by 10. gamma is 0.5, and
// all values are 0.
TEST(Gae, RewardsAreNormalisedAndThenScaled) {
  Example e(3, 1);
  e.reward = {-3, 1, 8};
  const float half = 0.5f;
  e.run(0.5f, 1, 10, {nullptr, &half, 3});
  EXPECT_EQ(e.shaped_reward, (std::vector<float>{-15, 5, 30}));
  EXPECT_EQ(e.advantage, (std::vector<float>{-15 + 0.5f * 20, 5 + 0.5f * 30, 30}));
}

// Two rollouts of three environments with gamma = 0.5. The episode of the first continues; the second terminates and
// the third is truncated at step 1.
TEST(DiscountedReturns, ContinueAcrossRolloutsAndRestartWithEpisodes) {
  const std::vector<float> all = in_every_way([](const Loops& loops) {
    std::vector<float> reward = {1, 1, 1, 2, 2, 2, 4, 4, 4}, out(9 + 9 + 3);
    std::vector<uint8_t> terminated(9), truncated(9);
    terminated[3 + 1] = truncated[3 + 2] = 1;
    RolloutView r{};
    r.num_steps = 3, r.num_envs = 3, r.reward = reward.data();
    r.terminated = terminated.data(), r.truncated = truncated.data();
    float* running_return = out.data() + 18;
    loops(3, DiscountedReturns{r, 0.5f, running_return, out.data()});
    loops(3, DiscountedReturns{r, 0.5f, running_return, out.data() + 9});
    return out;
  });
  // 1, 0.5 + 2, 1.25 + 4 = 5.25; then 2.625 + 1, ...; after the end of an episode: 4, then 2 + 1, 1.5 + 2, and 4 again.
  EXPECT_EQ(all, (std::vector<float>{1,      1, 1, 2.5f,    2.5f, 2.5f, 5.25f,    4, 4,  //
                                     3.625f, 3, 3, 3.8125f, 3.5f, 3.5f, 5.90625f, 4, 4, 5.90625f, 4, 4}));
}

TEST(AdvantageMoments, AreSumsAndSumsOfSquares) {
  Random random(3);
  const std::vector<float> a = uniforms(random, 1003, -1, 2), r = uniforms(random, 1003, -5, 5);
  const std::vector<double> sums = in_every_way([&](const Loops& loops) {
    std::vector<double> sums(5), scratch(4 * kSumLanes);
    sum_columns(loops.queue(), 1003, 4, scratch.data(), AdvantageMoments{a.data(), r.data()},
                StoreMoments{1003, sums.data()});
    return sums;
  });
  double expected[4] = {};
  for (size_t i = 0; i < 1003; ++i)
    expected[0] += a[i], expected[1] += double{a[i]} * a[i], expected[2] += r[i], expected[3] += double{r[i]} * r[i];
  EXPECT_EQ(sums[0], 1003);
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(sums[1 + c], expected[c], 1e-11 * (1 + std::abs(expected[c])));
}

TEST(CheckFinite, ReplacesSumsByZerosAndSetsTheRanksSlotIfOneIsNotFinite) {
  for (double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), 1.0}) {
    double numbers[] = {1, bad, 3, 0, 0};
    Loops()(1, CheckFinite{numbers, numbers + 3, numbers + 4});
    EXPECT_EQ(numbers[0], bad == 1 ? 1 : 0);
    EXPECT_EQ(numbers[1], bad == 1 ? 1 : 0);
    EXPECT_EQ(numbers[3], 0);
    EXPECT_EQ(numbers[4], bad == 1 ? 0 : 1);
  }
}

}  // namespace
}  // namespace drl
