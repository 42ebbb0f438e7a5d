#include "learn/sampling.hpp"

#include <gtest/gtest.h>

#include <array>

#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

// A rollout of one step whose environments all have the policy outputs `out`.
Rollout rollout_of(const TaskSpec& task, int64_t envs, const std::vector<float>& out,
                   const std::vector<float>& std = {}) {
  Rollout r(task, 1, envs);
  for (int64_t i = 0; i < envs; ++i) std::copy(out.begin(), out.end(), &r.policy_out[i * r.action_size]);
  std::copy(std.begin(), std.end(), r.std.begin());
  return r;
}

constexpr int64_t kMany = 200000;

// Five standard errors of a mean of n samples with this standard deviation.
double five_errors(double std, int64_t n) { return 5 * std / std::sqrt(static_cast<double>(n)); }

TEST(Sampling, GaussianNoiseHasTheMomentsOfANormalDistribution) {
  const TaskSpec task = gaussian_task(1, 6);  // two Philox blocks, three Box-Muller pairs
  Rollout r = rollout_of(task, kMany, {0, 1, -2, 3, 4, 5}, {1, 2, 0.5f, 1, 3, 0.1f});
  sample_actions(task.action, 11, 5, 0, r);
  std::vector<std::array<double, 6>> noise(kMany);
  for (int64_t i = 0; i < kMany; ++i)
    for (int k = 0; k < 6; ++k) noise[i][k] = (r.action[i * 6 + k] - r.policy_out[k]) / r.std[k];
  for (int k = 0; k < 6; ++k) {
    double m[5] = {};
    int beyond_two = 0;
    for (const auto& z : noise) {
      for (int power = 1; power <= 4; ++power) m[power] += std::pow(z[k], power) / kMany;
      beyond_two += std::abs(z[k]) > 2;
    }
    // Central moments 0, 1, 0, 3, whose samples have variances 1, 2, 15, 96.
    EXPECT_NEAR(m[1], 0, five_errors(1, kMany)) << "dimension " << k;
    EXPECT_NEAR(m[2], 1, five_errors(std::sqrt(2), kMany)) << "dimension " << k;
    EXPECT_NEAR(m[3], 0, five_errors(std::sqrt(15), kMany)) << "dimension " << k;
    EXPECT_NEAR(m[4], 3, five_errors(std::sqrt(96), kMany)) << "dimension " << k;
    EXPECT_NEAR(static_cast<double>(beyond_two) / kMany, std::erfc(std::sqrt(2)), five_errors(0.21, kMany))
        << "dimension " << k;
    for (int j = 0; j < k; ++j) {
      double product = 0;
      for (const auto& z : noise) product += z[k] * z[j] / kMany;
      EXPECT_NEAR(product, 0, five_errors(1, kMany)) << "dimensions " << j << " and " << k;
    }
  }
}

TEST(Sampling, NoiseOfSuccessiveStepsAndOfNeighboursIsUncorrelated) {
  const TaskSpec task = gaussian_task(1, 1);
  Rollout now = rollout_of(task, kMany, {0}, {1}), next = rollout_of(task, kMany, {0}, {1});
  sample_actions(task.action, 1, 7, 0, now);
  sample_actions(task.action, 1, 8, 0, next);
  double steps = 0, neighbours = 0;
  for (int64_t i = 0; i + 1 < kMany; ++i) {
    steps += now.action[i] * next.action[i] / kMany;
    neighbours += now.action[i] * now.action[i + 1] / kMany;
  }
  EXPECT_NEAR(steps, 0, five_errors(1, kMany));
  EXPECT_NEAR(neighbours, 0, five_errors(1, kMany));
}

TEST(Sampling, GaussianLogProbIsTheDensity) {
  const TaskSpec task = gaussian_task(1, 3);
  Rollout r = rollout_of(task, 1000, {0.3f, -1, 2}, {0.7f, 1.5f, 0.2f});
  sample_actions(task.action, 1, 0, 0, r);
  for (int64_t i = 0; i < 1000; ++i) {
    double expected = 0;
    for (int k = 0; k < 3; ++k) expected += gaussian_log_prob(r.action[i * 3 + k], r.policy_out[k], r.std[k]);
    EXPECT_NEAR(r.log_prob[i], expected, 1e-4);
  }
}

TEST(Sampling, CategoricalFrequenciesAreTheProbabilities) {
  const TaskSpec task = categorical_task(1, 4);
  const std::vector<float> logits = {100.0f, 101.0f, 98.0f, 100.5f};
  Rollout r = rollout_of(task, kMany, logits);
  sample_actions(task.action, 2, 0, 0, r);
  const std::vector<float> shifted = {0, 1, -2, 0.5f};
  const std::vector<double> p = softmax(shifted.data(), 4);
  std::vector<double> frequency(4);
  for (int64_t i = 0; i < kMany; ++i) {
    ASSERT_GE(r.choice[i], 0);
    ASSERT_LT(r.choice[i], 4);
    frequency[r.choice[i]] += 1.0 / kMany;
    ASSERT_NEAR(r.log_prob[i], std::log(p[r.choice[i]]), 2e-5);
  }
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(frequency[k], p[k], five_errors(std::sqrt(p[k] * (1 - p[k])), kMany));
}

TEST(Sampling, ImpossibleChoicesAreNeverMade) {
  const TaskSpec task = categorical_task(1, 3);
  Rollout r = rollout_of(task, 10000, {-1000, 0, -1000});
  sample_actions(task.action, 3, 0, 0, r);
  for (int32_t choice : r.choice) EXPECT_EQ(choice, 1);
}

// Environments 0..99 at once, or as two ranks of 50.
TEST(Sampling, DoesNotDependOnHowEnvironmentsAreDealtOut) {
  for (const TaskSpec& task : {gaussian_task(1, 3), categorical_task(1, 3)}) {
    const std::vector<float> out = {0.1f, 0.2f, 0.3f},
                             std = task.action.discrete ? std::vector<float>() : std::vector<float>{1, 2, 3};
    Rollout all = rollout_of(task, 100, out, std);
    sample_actions(task.action, 9, 1234, 0, all);
    for (int rank : {0, 1}) {
      Rollout half = rollout_of(task, 50, out, std);
      half.first_env = 50 * rank;
      sample_actions(task.action, 9, 1234, 0, half);
      for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(half.log_prob[i], all.log_prob[50 * rank + i]);
      for (size_t i = 0; i < half.action.size(); ++i) EXPECT_EQ(half.action[i], all.action[150 * rank + i]);
      for (size_t i = 0; i < half.choice.size(); ++i) EXPECT_EQ(half.choice[i], all.choice[50 * rank + i]);
    }
  }
}

TEST(Sampling, SeedAndStepChangeTheNoise) {
  const TaskSpec task = gaussian_task(1, 1);
  Rollout a = rollout_of(task, 1, {0}, {1}), b = rollout_of(task, 1, {0}, {1}), c = rollout_of(task, 1, {0}, {1});
  sample_actions(task.action, 1, 0, 0, a);
  sample_actions(task.action, 2, 0, 0, b);
  sample_actions(task.action, 1, 1, 0, c);
  EXPECT_NE(a.action[0], b.action[0]);
  EXPECT_NE(a.action[0], c.action[0]);
}

TEST(Sampling, FillsTheRowOfItsStepOnly) {
  const TaskSpec task = gaussian_task(1, 2);
  Rollout r(task, 3, 4);
  std::fill(r.std.begin(), r.std.end(), 1.0f);
  sample_actions(task.action, 1, 0, 1, r);
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(r.action[i] != 0, i >= 8 && i < 16) << i;
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(r.log_prob[i] != 0, i >= 4 && i < 8) << i;
}

// The environment's action is clipped; the rollout's, and its log-probability, are those of the sample.
TEST(Sampling, ClipsWhatTheEnvironmentReceivesOnly) {
  TaskSpec task = gaussian_task(1, 2);
  task.action.low = {-1, -0.5f};
  task.action.high = {1, 2};
  Rollout r = rollout_of(task, 1000, {0, 0}, {2, 2});
  sample_actions(task.action, 4, 0, 0, r);
  int outside = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const float low = task.action.low[i % 2], high = task.action.high[i % 2];
    EXPECT_EQ(r.env_action[i], std::min(std::max(r.action[i], low), high));
    outside += r.action[i] < low || r.action[i] > high;
  }
  EXPECT_GT(outside, 500);
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_NEAR(r.log_prob[i], gaussian_log_prob(r.action[2 * i], 0, 2) + gaussian_log_prob(r.action[2 * i + 1], 0, 2),
                1e-4);
}

TEST(MostProbableActions, AreTheMeansAndTheLargestLogit) {
  TaskSpec task = gaussian_task(1, 2, 1.0f);
  Rollout r = rollout_of(task, 2, {0.25f, -3}, {1, 1});
  most_probable_actions(task.action, 0, r);
  EXPECT_EQ(r.action[3], -3);
  EXPECT_EQ(r.env_action[2], 0.25f);
  EXPECT_EQ(r.env_action[3], -1);
  const TaskSpec discrete = categorical_task(1, 3);
  Rollout d = rollout_of(discrete, 2, {1, 3, 2});
  most_probable_actions(discrete.action, 0, d);
  EXPECT_EQ(d.choice[0], 1);
  EXPECT_EQ(d.choice[1], 1);
}

}  // namespace
}  // namespace drl
