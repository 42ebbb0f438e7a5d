#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "policy_loops.hpp"

namespace drl {
namespace {

using namespace test;

// Environments that all have the same policy outputs, with a task's bounds.
struct Actions {
  Actions(const TaskSpec& task, int64_t envs, std::vector<float> outputs, std::vector<float> deviations = {})
      : space(task.action), n(envs), std(std::move(deviations)), log_prob(static_cast<size_t>(envs)) {
    for (int64_t i = 0; i < envs; ++i) out.insert(out.end(), outputs.begin(), outputs.end());
    action.resize(space.discrete ? 0 : out.size()), env_action.resize(action.size());
    choice.resize(space.discrete ? log_prob.size() * static_cast<size_t>(space.head_count()) : 0);
  }
  Gaussian gaussian() { return {space.size, space.low.data(), space.high.data(), nullptr, true, std.data()}; }
  Categorical categorical() { return {space.size, space.head_count(), space.heads.data()}; }
  Actions& sample(const ActionNoise& noise, const Loops& loops = Loops()) {
    if (space.discrete)
      loops(n, Sample<Categorical>{categorical(), noise, out.data(), choice.data(), nullptr, log_prob.data()});
    else
      loops(n, Sample<Gaussian>{gaussian(), noise, out.data(), action.data(), env_action.data(), log_prob.data()});
    return *this;
  }
  Actions& most_probable(const Loops& loops = Loops()) {
    if (space.discrete)
      loops(n, MostProbable<Categorical>{categorical(), out.data(), choice.data(), nullptr});
    else
      loops(n, MostProbable<Gaussian>{gaussian(), out.data(), action.data(), env_action.data()});
    return *this;
  }

  ActionSpace space;
  int64_t n;
  std::vector<float> std, out, action, env_action, log_prob;
  std::vector<int32_t> choice;
};

constexpr int64_t kMany = 200000;

// Returns five standard errors of the mean of n samples with this standard deviation.
double five_errors(double std, int64_t n) { return 5 * std / std::sqrt(static_cast<double>(n)); }

TEST(Sampling, GaussianNoiseHasTheMomentsOfANormalDistribution) {
  Actions a(gaussian_task(1, 6), kMany, {0, 1, -2, 3, 4, 5}, {1, 2, 0.5f, 1, 3, 0.1f});  // two Philox blocks
  a.sample({11, 0, 5});
  std::vector<std::array<double, 6>> noise(kMany);
  for (int64_t i = 0; i < kMany; ++i)
    for (int k = 0; k < 6; ++k) noise[i][k] = (a.action[i * 6 + k] - a.out[k]) / a.std[k];
  for (int k = 0; k < 6; ++k) {
    double m[5] = {};
    int beyond_two = 0;
    for (const auto& z : noise) {
      for (int power = 1; power <= 4; ++power) m[power] += std::pow(z[k], power) / kMany;
      beyond_two += std::abs(z[k]) > 2;
    }
    // The means of z, z^2, z^3 and z^4 are 0, 1, 0 and 3, and their variances are 1, 2, 15 and 96.
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

TEST(Sampling, NoiseOfSuccessiveStepsAndOfNeighbouringEnvironmentsIsUncorrelated) {
  Actions now(gaussian_task(1, 1), kMany, {0}, {1}), next = now;
  now.sample({1, 0, 7});
  next.sample({1, 0, 8});
  double steps = 0, neighbours = 0;
  for (int64_t i = 0; i + 1 < kMany; ++i) {
    steps += now.action[i] * next.action[i] / kMany;
    neighbours += now.action[i] * now.action[i + 1] / kMany;
  }
  EXPECT_NEAR(steps, 0, five_errors(1, kMany));
  EXPECT_NEAR(neighbours, 0, five_errors(1, kMany));
}

TEST(Sampling, GaussianLogProbIsTheDensity) {
  Actions a(gaussian_task(1, 3), 1000, {0.3f, -1, 2}, {0.7f, 1.5f, 0.2f});
  a.sample({1, 0, 0});
  for (int64_t i = 0; i < 1000; ++i) {
    double expected = 0;
    for (int k = 0; k < 3; ++k) expected += gaussian_log_prob(a.action[i * 3 + k], a.out[k], a.std[k]);
    EXPECT_NEAR(a.log_prob[i], expected, 1e-4);
  }
}

TEST(Sampling, CategoricalFrequenciesAreTheProbabilities) {
  Actions a(categorical_task(1, 4), kMany, {100.0f, 101.0f, 98.0f, 100.5f});
  a.sample({2, 0, 0});
  const std::vector<double> shifted = {0, 1, -2, 0.5}, p = softmax(shifted.data(), 4);
  std::vector<double> frequency(4);
  for (int64_t i = 0; i < kMany; ++i) {
    ASSERT_GE(a.choice[i], 0);
    ASSERT_LT(a.choice[i], 4);
    frequency[a.choice[i]] += 1.0 / kMany;
    ASSERT_NEAR(a.log_prob[i], std::log(p[a.choice[i]]), 2e-5);
  }
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(frequency[k], p[k], five_errors(std::sqrt(p[k] * (1 - p[k])), kMany));
}

// Uses six heads, which need two Philox blocks. The probability of two heads' choices is the product of both.
TEST(Sampling, HeadsAreIndependent) {
  TaskSpec task = categorical_task(1, 14);
  task.action.heads = {2, 3, 2, 2, 3, 2};
  const std::vector<float> logits = {0, 1, 0.5f, -1, 0, 0, 2, 0, 0, -1, 1, 0.3f, 1, 0.5f};
  Actions a(task, kMany, logits);
  a.sample({2, 0, 0});
  std::vector<std::vector<double>> p;
  for (size_t h = 0, first = 0; h < 6; first += static_cast<size_t>(task.action.heads[h++]))
    p.push_back(softmax(&logits[first], task.action.heads[h]));
  double joint[6][6][3][3] = {};
  for (int64_t i = 0; i < kMany; ++i) {
    const int32_t* choice = &a.choice[static_cast<size_t>(6 * i)];
    double log_prob = 0;
    for (size_t h = 0; h < 6; ++h) {
      ASSERT_GE(choice[h], 0);
      ASSERT_LT(choice[h], task.action.heads[h]);
      log_prob += std::log(p[h][static_cast<size_t>(choice[h])]);
      for (size_t g = 0; g < h; ++g) joint[g][h][choice[g]][choice[h]] += 1.0 / kMany;
    }
    ASSERT_NEAR(a.log_prob[static_cast<size_t>(i)], log_prob, 2e-5);
  }
  for (size_t h = 0; h < 6; ++h)
    for (size_t g = 0; g < h; ++g)
      for (size_t x = 0; x < p[g].size(); ++x)
        for (size_t y = 0; y < p[h].size(); ++y) {
          const double both = p[g][x] * p[h][y];
          EXPECT_NEAR(joint[g][h][x][y], both, five_errors(std::sqrt(both * (1 - both)), kMany)) << g << " " << h;
        }
}

TEST(Sampling, ChoicesWithProbabilityZeroAreNeverSampled) {
  const Actions a = Actions(categorical_task(1, 3), 10000, {-1000, 0, -1000}).sample({3, 0, 0});
  for (int32_t choice : a.choice) EXPECT_EQ(choice, 1);
}

class SamplingOf : public testing::TestWithParam<int> {  // number of continuous actions; negative: of choices
 protected:
  Actions actions(int64_t envs) const {
    const int size = std::abs(GetParam());
    std::vector<float> out(static_cast<size_t>(size)), std(GetParam() > 0 ? out.size() : 0);
    std::iota(out.begin(), out.end(), -0.7f);
    std::iota(std.begin(), std.end(), 0.5f);
    TaskSpec task = GetParam() > 0 ? gaussian_task(1, size, 2) : categorical_task(1, size);
    if (GetParam() == -7) task.action.heads = {3, 4};
    return {task, envs, out, std};
  }
};

TEST_P(SamplingOf, IsBitIdenticalOnEveryInstructionSet) {
  const auto all = [](const Actions& a) {
    std::vector<float> numbers = a.log_prob;
    for (const auto* more : {&a.action, &a.env_action}) numbers.insert(numbers.end(), more->begin(), more->end());
    numbers.insert(numbers.end(), a.choice.begin(), a.choice.end());
    return numbers;
  };
  in_every_way([&](const Loops& loops) { return all(actions(109).sample({9, 50, 1234}, loops)); });
  in_every_way([&](const Loops& loops) { return all(actions(109).most_probable(loops)); });
}

// Compares environments 0..99 on one rank with two ranks of 50 each.
TEST_P(SamplingOf, DoesNotDependOnTheDistributionOverRanks) {
  const Actions all = actions(100).sample({9, 0, 1234});
  const size_t size = all.action.size() / 100, choices = all.choice.size() / 100;
  for (size_t rank : {0, 1}) {
    const Actions half = actions(50).sample({9, 50 * static_cast<int64_t>(rank), 1234});
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(half.log_prob[i], all.log_prob[50 * rank + i]);
    for (size_t i = 0; i < half.action.size(); ++i) EXPECT_EQ(half.action[i], all.action[50 * size * rank + i]);
    for (size_t i = 0; i < half.choice.size(); ++i) EXPECT_EQ(half.choice[i], all.choice[50 * choices * rank + i]);
  }
}

TEST_P(SamplingOf, SeedAndStepChangeTheNoise) {
  const Actions a = actions(20).sample({1, 0, 0}), b = actions(20).sample({2, 0, 0}), c = actions(20).sample({1, 0, 1});
  EXPECT_NE(std::pair(a.action, a.choice), std::pair(b.action, b.choice));
  EXPECT_NE(std::pair(a.action, a.choice), std::pair(c.action, c.choice));
}

INSTANTIATE_TEST_SUITE_P(Policies, SamplingOf, testing::Values(1, 2, 3, 6, -2, -3, -5, -7), [](const auto& info) {
  return (info.param > 0 ? "Gaussian" : "Categorical") + std::to_string(std::abs(info.param));
});

// Only the environment's action is clipped. The rollout stores the sample itself and its log-probability.
TEST(Sampling, ClipsOnlyTheActionForTheEnvironment) {
  TaskSpec task = gaussian_task(1, 2);
  task.action.low = {-1, -0.5f};
  task.action.high = {1, 2};
  const Actions a = Actions(task, 1000, {0, 0}, {2, 2}).sample({4, 0, 0});
  int outside = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const float low = task.action.low[i % 2], high = task.action.high[i % 2];
    EXPECT_EQ(a.env_action[i], std::min(std::max(a.action[i], low), high));
    outside += a.action[i] < low || a.action[i] > high;
  }
  EXPECT_GT(outside, 500);
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_NEAR(a.log_prob[i], gaussian_log_prob(a.action[2 * i], 0, 2) + gaussian_log_prob(a.action[2 * i + 1], 0, 2),
                1e-4);
}

TEST(MostProbable, IsTheMeanOrTheChoiceWithTheLargestLogit) {
  const Actions a = Actions(gaussian_task(1, 2, 1.0f), 2, {0.25f, -3}, {1, 1}).most_probable();
  EXPECT_EQ(a.action[3], -3);
  EXPECT_EQ(a.env_action[2], 0.25f);
  EXPECT_EQ(a.env_action[3], -1);
  EXPECT_EQ(Actions(categorical_task(1, 3), 2, {1, 3, 2}).most_probable().choice, (std::vector<int32_t>{1, 1}));
  TaskSpec task = categorical_task(1, 5);
  task.action.heads = {2, 3};
  EXPECT_EQ(Actions(task, 2, {1, 3, 2, 0, 4}).most_probable().choice, (std::vector<int32_t>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace drl
