// Distributions of bounded actions, compared with formulas in double: the library's lgamma, and integrals over a grid.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "policy/special.hpp"
#include "policy_loops.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kSize = 3;
constexpr float kLow[] = {-1, 0.5f, -4}, kHigh[] = {1, 3, 2};

double log_beta_function(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }
// The recurrences from x to x + 1000, where the first terms of the asymptotic series are exact.
double digamma_of(double x) {
  double sum = 0;
  for (int k = 0; k < 1000; ++k) sum -= 1 / x++;
  return sum + std::log(x) - 1 / (2 * x) - 1 / (12 * x * x);
}
double trigamma_of(double x) {
  double sum = 0;
  for (int k = 0; k < 1000; ++k) sum += 1 / (x * x), x += 1;
  return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x);
}

TEST(SpecialFunctions, HaveTheirKnownValues) {
  constexpr double euler = 0.57721566490153286, pi = std::numbers::pi;
  EXPECT_NEAR(digamma(1.0f), -euler, 3e-7);
  EXPECT_NEAR(digamma(2.0f), 1 - euler, 3e-7);
  EXPECT_NEAR(digamma(1.5f), 2 - euler - 2 * std::numbers::ln2, 3e-7);
  EXPECT_NEAR(trigamma(1.0f), pi * pi / 6, 5e-7);
  EXPECT_NEAR(trigamma(2.0f), pi * pi / 6 - 1, 5e-7);
  EXPECT_NEAR(log_beta(1.0f, 1.0f), 0, 5e-7);
  EXPECT_NEAR(log_beta(2.0f, 3.0f), -std::log(12.0), 1e-6);
  for (const float x : {1.0f, 1.3f, 2.7f, 8.0f, 40.0f, 500.0f}) {
    EXPECT_NEAR(digamma(x), digamma_of(double{x}), 4e-7 * (1 + std::log(double{x}))) << x;
    EXPECT_NEAR(trigamma(x), trigamma_of(double{x}), 1e-6) << x;
    for (const float y : {1.0f, 1.7f, 30.0f}) {
      const double expected = log_beta_function(double{x}, double{y});
      EXPECT_NEAR(log_beta(x, y), expected, 4e-7 * (3 + std::abs(expected)) + 1e-7 * double{x}) << x << ", " << y;
    }
  }
}

double softplus(double x) { return std::log1p(std::exp(x)); }
double middle(int k) { return (double{kLow[k]} + double{kHigh[k]}) / 2; }
double half(int k) { return (double{kHigh[k]} - double{kLow[k]}) / 2; }

// The formulas of one sample. `now` has the outputs, and after them the parameters of the standard deviation.
Formula beta_formula(const double* now, const double* old, const float* action) {
  Formula f;
  for (int k = 0; k < kSize; ++k) {
    const double a = 1 + softplus(now[k]), b = 1 + softplus(now[kSize + k]), a0 = 1 + softplus(old[k]),
                 b0 = 1 + softplus(old[kSize + k]), u = (action[k] - double{kLow[k]}) / (2 * half(k));
    const double log_b = log_beta_function(a, b);
    f.log_prob += (a - 1) * std::log(u) + (b - 1) * std::log1p(-u) - log_b - std::log(2 * half(k));
    f.kl += log_b - log_beta_function(a0, b0) + (a0 - a) * digamma_of(a0) + (b0 - b) * digamma_of(b0) +
            (a + b - a0 - b0) * digamma_of(a0 + b0);
    f.entropy += log_b - (a - 1) * digamma_of(a) - (b - 1) * digamma_of(b) + (a + b - 2) * digamma_of(a + b) +
                 std::log(2 * half(k));
  }
  return f;
}
Formula squashed_formula(const double* now, const double* old, const float* action) {
  Formula f;
  for (int k = 0; k < kSize; ++k) {
    const double mean = now[k], std = std::exp(now[kSize + k]), old_mean = old[k], old_std = old[kSize + k],
                 u = (action[k] - middle(k)) / half(k);
    f.log_prob += gaussian_log_prob(std::atanh(u), mean, std) - std::log(half(k) * (1 - u * u));
    f.kl +=
        std::log(std / old_std) + (old_std * old_std + (old_mean - mean) * (old_mean - mean)) / (2 * std * std) - 0.5;
    f.entropy += 0.5 + 0.5 * std::log(2 * std::numbers::pi) + std::log(std * half(k));
    const double h = 0.02;  // the trapezoidal rule over +- 10 standard deviations
    for (double z = -10; z <= 10; z += h) {
      const double t = std::tanh(mean + std * z);
      f.entropy += h * std::exp(gaussian_log_prob(z, 0, 1)) * std::log(std::max(1 - t * t, 1e-300));
    }
  }
  return f;
}

// Samples whose outputs, parameters and actions are random, and what a distribution computes for them.
constexpr int64_t kSamples = 53;
constexpr float kEntropyCoef = 0.3f;

struct Example {
  Example(int outputs, bool has_std) : outputs(outputs) {
    Random random(3);
    old_out = uniforms(random, kSamples * outputs, -1.5, 1.5);
    for (int64_t i = 0; i < kSamples; ++i)
      for (int k = 0; k < kSize; ++k) action.push_back(kLow[k] + (kHigh[k] - kLow[k]) * uniform(random, 0.02, 0.98));
    rows = shuffled(random, kSamples);
    for (int64_t i = 0; i < kSamples * outputs; ++i)
      out.push_back(old_out[static_cast<size_t>(rows[i / outputs] * outputs + i % outputs)] +
                    uniform(random, -0.3, 0.3));
    d_log_prob = uniforms(random, kSamples, -1, 1);
    for (int k = 0; k < (has_std ? kSize : 0); ++k)
      std.push_back(uniform(random, 0.2, 0.5)), param.push_back(std::log(std.back() * 1.1f));
  }
  // Returns log_prob, kl and entropy [kSamples] each, d_out [kSamples, outputs], and the parameters' gradient.
  template <class Policy>
  std::vector<float> differentiate(const Policy& policy) {
    return in_every_way([&](const Loops& loops) {
      std::vector<float> all(3 * kSamples + out.size() + param.size());
      std::vector<double> scratch(static_cast<size_t>(kSumLanes * (kSize + 1)));
      float* at = all.data();
      loops(kSamples, HostSumRows<Differentiate<Policy>>{
                          {policy, out.data(), old_out.data(), action.data(), rows.data(), d_log_prob.data(),
                           kEntropyCoef, at, at + kSamples, at + 2 * kSamples, at + 3 * kSamples},
                          scratch.data()});
      for (size_t k = 0; k < param.size(); ++k)
        all[3 * kSamples + out.size() + k] = static_cast<float>(sum_lanes(&scratch[k * kSumLanes], 1, kSumLanes));
      return all;
    });
  }
  // Compares all with a formula, and the gradients with its slopes.
  void expect(const std::vector<float>& all, Formula (*formula)(const double*, const double*, const float*)) const {
    const auto width = static_cast<size_t>(outputs);
    std::vector<double> of_param(param.size());
    for (size_t i = 0; i < kSamples; ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      std::vector<double> now(&out[i * width], &out[i * width] + width),
          old(&old_out[row * width], &old_out[row * width] + width);
      now.insert(now.end(), param.begin(), param.end()), old.insert(old.end(), std.begin(), std.end());
      const auto of = [&] { return formula(now.data(), old.data(), &action[row * kSize]); };
      const Formula f = of();
      EXPECT_NEAR(all[i], f.log_prob, 2e-5);
      EXPECT_NEAR(all[kSamples + i], f.kl, 5e-6);
      EXPECT_NEAR(all[2 * kSamples + i], f.entropy, 1e-5);
      const auto loss = [&] {
        const Formula g = of();
        return double{d_log_prob[i]} * g.log_prob - double{kEntropyCoef} * g.entropy;
      };
      for (size_t k = 0; k < now.size(); ++k) {
        const double expected = slope(loss, now[k]);
        if (k >= width) {
          of_param[k - width] += expected;
        } else {
          EXPECT_NEAR(all[3 * kSamples + i * width + k], expected, 2e-5 + 1e-5 * std::abs(expected)) << i << ", " << k;
        }
      }
    }
    for (size_t k = 0; k < of_param.size(); ++k)
      EXPECT_NEAR(all[3 * kSamples + out.size() + k], of_param[k], 2e-4 + 1e-5 * std::abs(of_param[k])) << k;
  }

  int outputs;
  std::vector<float> old_out, out, action, d_log_prob, std, param;
  std::vector<int32_t> rows;
};

TEST(Bounded, BetaAndItsGradientEqualTheFormulas) {
  Example e(2 * kSize, false);
  e.expect(e.differentiate(Beta{kSize, kLow, kHigh}), beta_formula);
}
TEST(Bounded, SquashedGaussianAndItsGradientEqualTheFormulas) {
  Example e(kSize, true);
  e.expect(e.differentiate(SquashedGaussian{kSize, kLow, kHigh, e.param.data(), true, e.std.data()}), squashed_formula);
}

// Returns log_prob, kl and entropy of one sample with one action.
template <class Policy>
std::array<float, 3> evaluate_one(const Policy& policy, const float* raw, const float* old, float action) {
  const float one = 1;
  const int32_t row = 0;
  std::array<float, 3> e;
  float d_out[2];
  double scratch[kSumLanes] = {};
  Loops()(1, HostSumRows<Differentiate<Policy>>{{policy, raw, old, &action, &row, &one, 0, &e[0], &e[1], &e[2], d_out},
                                                scratch});
  return e;
}

// Values of torch.distributions: Beta(2, 3) at u = 0.4, as the old distribution Beta(3, 2), on [-1, 1].
TEST(Bounded, BetaByHand) {
  const float raw[] = {static_cast<float>(std::log(std::exp(1) - 1)), static_cast<float>(std::log(std::exp(2) - 1))},
              old[] = {raw[1], raw[0]}, low = -1, high = 1;
  const auto [log_prob, kl, entropy] = evaluate_one(Beta{1, &low, &high}, raw, old, -0.2f);
  EXPECT_NEAR(log_prob, 0.546965 - std::log(2.0), 1e-5);  // log(12 * 0.4 * 0.6^2 / 2)
  EXPECT_NEAR(kl, 0.5, 1e-5);                             // psi(3) - psi(2)
  EXPECT_NEAR(entropy, -0.234907 + std::log(2.0), 1e-5);
}

// Values of TransformedDistribution(Normal(0.3, 0.5), [TanhTransform(), AffineTransform(1, 3)]), whose bounds are -2
// and 4, with the old distribution Normal(0.1, 0.4). The entropy is that of four million samples of it.
TEST(Bounded, SquashedGaussianByHand) {
  const float mean = 0.3f, old_mean = 0.1f, std = 0.5f, low = -2, high = 4;
  float old_std = 0.4f;
  const SquashedGaussian squashed{1, &low, &high, &std, false, &old_std};
  const auto [log_prob, kl, entropy] = evaluate_one(squashed, &mean, &old_mean, 2.5f);
  EXPECT_NEAR(log_prob, -1.1610287, 1e-5);
  EXPECT_NEAR(kl, 0.123144, 1e-5);  // log(0.5 / 0.4) + (0.4^2 + 0.2^2) / (2 0.5^2) - 0.5
  EXPECT_NEAR(entropy, 1.52488, 2e-3);
  EXPECT_NEAR(evaluate_one(squashed, &mean, &old_mean, -1.5f)[0], -4.6324680, 1e-5);
}

// Environments with the same outputs.
template <class Policy>
struct Sampled {
  Sampled(const Policy& policy, const std::vector<float>& outputs, int64_t envs, const ActionNoise& noise,
          const Loops& loops = Loops())
      : action(static_cast<size_t>(envs * policy.size)),
        env_action(action.size()),
        log_prob(static_cast<size_t>(envs)) {
    for (int64_t i = 0; i < envs; ++i) out.insert(out.end(), outputs.begin(), outputs.end());
    loops(envs, Sample<Policy>{policy, noise, out.data(), action.data(), env_action.data(), log_prob.data()});
  }
  std::vector<float> numbers() const {
    std::vector<float> all = action;
    all.insert(all.end(), log_prob.begin(), log_prob.end());
    return all;
  }
  std::vector<float> out, action, env_action, log_prob;
};

constexpr int64_t kMany = 200000;
double five_errors(double std) { return 5 * std / std::sqrt(double{kMany}); }

// The moments of u are E u = a / s, E u^2 = a (a + 1) / (s (s + 1)), and so on, with s = a + b.
TEST(Bounded, BetaSamplesHaveTheirMoments) {
  const std::vector<float> raw = {-8, 0.5f, 30, 0, -0.5f, 2};
  const Beta beta{kSize, kLow, kHigh};
  const Sampled<Beta> s(beta, raw, kMany, {11, 0, 5});
  EXPECT_EQ(s.action, s.env_action);
  for (int k = 0; k < kSize; ++k) {
    const double a = 1 + softplus(raw[k]), b = 1 + softplus(raw[kSize + k]);
    double expected[9] = {1}, found[5] = {};
    for (int power = 1; power <= 8; ++power)
      expected[power] = expected[power - 1] * (a + power - 1) / (a + b + power - 1);
    for (int64_t i = 0; i < kMany; ++i) {
      const float x = s.action[static_cast<size_t>(i * kSize + k)];
      ASSERT_TRUE(kLow[k] <= x && x <= kHigh[k]);
      const double u = (x - double{kLow[k]}) / (2 * half(k));
      for (int power = 1; power <= 4; ++power) found[power] += std::pow(u, power) / kMany;
    }
    for (int power = 1; power <= 4; ++power)
      EXPECT_NEAR(found[power], expected[power],
                  five_errors(std::sqrt(expected[2 * power] - expected[power] * expected[power])))
          << k << ", " << power;
  }
}

TEST(Bounded, SquashedSamplesAreThoseOfAGaussian) {
  std::vector<float> std = {0.3f, 1, 0.6f};
  const std::vector<float> mean = {0.5f, 0, -1};
  const SquashedGaussian squashed{kSize, kLow, kHigh, nullptr, true, std.data()};
  const Sampled<SquashedGaussian> s(squashed, mean, kMany, {11, 0, 5});
  for (int k = 0; k < kSize; ++k) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < kMany; ++i) {
      const float x = s.action[static_cast<size_t>(i * kSize + k)];
      ASSERT_TRUE(kLow[k] <= x && x <= kHigh[k]);
      const double z = (std::atanh(std::clamp((x - middle(k)) / half(k), -0.999999, 0.999999)) - mean[k]) / std[k];
      sum += z / kMany, squares += z * z / kMany;
    }
    EXPECT_NEAR(sum, 0, five_errors(1)) << k;
    EXPECT_NEAR(squares, 1, five_errors(std::sqrt(2))) << k;
  }
}

// The log-probabilities of samples are those that the loss computes for them, so that the first ratio is exactly 1.
TEST(Bounded, SamplesHaveTheLogProbabilitiesOfTheLoss) {
  std::vector<float> std = {0.3f, 3, 0.6f}, param;
  for (float x : std) param.push_back(x);
  const auto check = [&]<class Policy>(const Policy& policy, const std::vector<float>& raw) {
    const Sampled<Policy> s(policy, raw, 500, {1, 0, 2});
    std::vector<int32_t> rows(500);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
    std::vector<float> log_prob(500), kl(500), entropy(500), d_out(s.out.size()), ones(500, 1.0f);
    std::vector<double> scratch(kSumLanes * (kSize + 1));
    Loops()(500, HostSumRows<Differentiate<Policy>>{
                     {policy, s.out.data(), s.out.data(), s.action.data(), rows.data(), ones.data(), 0, log_prob.data(),
                      kl.data(), entropy.data(), d_out.data()},
                     scratch.data()});
    EXPECT_EQ(log_prob, s.log_prob);
    for (float x : kl) EXPECT_NEAR(x, 0, 1e-6);
    for (float x : d_out) ASSERT_TRUE(std::isfinite(x));
  };
  check(Beta{kSize, kLow, kHigh}, {-3, 0.5f, 6, 0, 8, 2});
  check(SquashedGaussian{kSize, kLow, kHigh, param.data(), false, std.data()}, {0.5f, 0, -4});
}

TEST(Bounded, SamplesAreBitIdenticalOnEveryInstructionSetAndRank) {
  std::vector<float> std = {0.3f, 1, 0.6f};
  const auto check = [&]<class Policy>(const Policy& policy, const std::vector<float>& raw) {
    in_every_way([&](const Loops& loops) { return Sampled<Policy>(policy, raw, 109, {9, 50, 1234}, loops).numbers(); });
    const Sampled<Policy> all(policy, raw, 100, {9, 0, 7}), second(policy, raw, 50, {9, 50, 7}),
        other(policy, raw, 50, {9, 50, 8});
    EXPECT_TRUE(std::equal(second.action.begin(), second.action.end(), all.action.begin() + 50 * kSize));
    EXPECT_NE(second.action, other.action);
  };
  check(Beta{kSize, kLow, kHigh}, {-1, 0.5f, 3, 0, -0.5f, 2});
  check(SquashedGaussian{kSize, kLow, kHigh, nullptr, true, std.data()}, {0.5f, 0, -1});
}

TEST(Bounded, DeterministicActionsAreTheMeanOrTheSquashedMean) {
  const auto choose = []<class Policy>(const Policy& policy, std::vector<float> raw) {
    std::vector<float> action(kSize), env_action(kSize);
    Loops()(1, MostProbable<Policy>{policy, raw.data(), action.data(), env_action.data()});
    EXPECT_EQ(action, env_action);
    return action;
  };
  const std::vector<float> beta = choose(Beta{kSize, kLow, kHigh}, {0, 0.5f, 3, 0, -0.5f, 2}),
                           squashed = choose(SquashedGaussian{kSize, kLow, kHigh}, {0.5f, 0, -1});
  EXPECT_NEAR(beta[0], 0, 1e-6);
  const double a = 1 + softplus(0.5), b = 1 + softplus(-0.5);
  EXPECT_NEAR(beta[1], 0.5 + 2.5 * a / (a + b), 1e-6);
  EXPECT_NEAR(squashed[0], std::tanh(0.5), 1e-6);
  EXPECT_NEAR(squashed[1], 1.75, 1e-6);
  EXPECT_NEAR(squashed[2], -1 - 3 * std::tanh(1.0), 1e-6);
}

// The std of Beta(a, b) is sqrt(a b / (s + 1)) / s.
TEST(Bounded, TheStdOfBetaIsInUnitsOfTheAction) {
  const std::vector<float> raw = {0, 0.5f, 3, 0, -0.5f, 2};
  const Beta beta{kSize, kLow, kHigh};
  for (int k = 0; k < kSize; ++k) {
    const double a = 1 + softplus(raw[k]), b = 1 + softplus(raw[kSize + k]);
    EXPECT_NEAR(beta.std_at<float>(raw.data(), 0, k), 2 * half(k) * std::sqrt(a * b / (a + b + 1)) / (a + b), 1e-6);
  }
}

}  // namespace
}  // namespace drl
