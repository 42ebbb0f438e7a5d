#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"

namespace drl {
namespace {

using namespace test;

// Parameters and their Adam steps. Groups of parameters end at `ends`.
struct Optimiser {
  explicit Optimiser(size_t n) : Optimiser(n, {static_cast<int64_t>(n)}) {}
  Optimiser(size_t n, std::vector<int64_t> ends) : ends(std::move(ends)), params(n), m(n), v(n) {}

  // Takes a step with this mean gradient, passed to the kernels as a sum over `samples` samples.
  void step(const std::vector<float>& mean_gradient, double learning_rate, const Loops& loops = Loops(),
            float samples = 2) {
    std::vector<float> gradient = mean_gradient;
    for (float& g : gradient) g *= samples;
    const float tail[kLossColumns] = {samples};
    const auto n = static_cast<int64_t>(params.size());
    ParamGroups groups{static_cast<int32_t>(ends.size())};
    std::ranges::copy(ends, groups.end);
    std::vector<double> scratch(kMaxGroups * kSumLanes);
    sum_columns(loops.queue(), n, kMaxGroups, scratch.data(), GradientSquares{gradient.data(), tail, groups},
                StoreTo{numbers.squared_norms});
    numbers.learning_rate = learning_rate;
    rule.joint_clip = joint, rule.adam_eps = epsilon, rule.num_groups = groups.count;
    if (max_norm > 0)
      for (GroupRule& group : rule.groups) group.max_grad_norm = max_norm;
    loops(1, PrepareStep{&numbers, tail, kLossColumns, rule});
    const StepTarget target{&numbers, gradient.data(), params.data(), groups, {std_begin, std_end, -0.5f, 0.25f}};
    if (rule.type == OptimizerType::sgd) {
      loops(n, SgdStep{target, m.data(), static_cast<float>(rule.momentum)});
    } else {
      loops(n, AdamStep{target, m.data(), v.data()});
    }
  }

  std::vector<int64_t> ends;
  int64_t std_begin = 0, std_end = 0;
  double max_norm = 1e9, epsilon = 1e-8;  // max_norm 0: those of the rule
  bool joint = false;
  OptimizerRule rule;
  UpdateNumbers numbers{};
  std::vector<float> params, m, v;
};

// Gradient 2, then -1, learning rate 0.1, beta 0.9 and 0.999.
//   step 1: m_hat = 2, v_hat = 4: params -= 0.1 * 2/2
//   step 2: m = 0.9*0.2 - 0.1 = 0.08, m_hat = 0.08/0.19; v = 0.999*0.004 + 0.001 = 0.004996, v_hat = v/0.001999
TEST(Adam, TwoStepsEqualThoseComputedByHand) {
  Optimiser adam(1);
  adam.params = {1};
  adam.step({2}, 0.1);
  EXPECT_NEAR(adam.params[0], 0.9, 1e-7);
  adam.step({-1}, 0.1);
  EXPECT_NEAR(adam.params[0], 0.9 - 0.1 * (0.08 / 0.19) / std::sqrt(0.004996 / 0.001999), 1e-7);
  EXPECT_EQ(adam.numbers.optimizer_steps, 2);
}

// Without samples the mean gradient is 0.
TEST(Adam, AMiniBatchWithoutSamplesChangesNoParameter) {
  Optimiser adam(2);
  adam.params = {1, 2};
  adam.step({3, 4}, 0.1, Loops(), 0);
  EXPECT_EQ(adam.numbers.not_finite, 0);
  EXPECT_EQ(adam.params, (std::vector<float>{1, 2}));
}

// Epsilon is added to sqrt(v_hat), not to sqrt(v). If the gradient equals epsilon, the first step is therefore half the
// learning rate.
TEST(Adam, EpsilonIsAddedToTheBiasCorrectedRoot) {
  Optimiser adam(1);
  adam.epsilon = 1e-3;
  adam.step({1e-3f}, 0.1);
  EXPECT_NEAR(adam.params[0], -0.05, 1e-7);
}

TEST(Adam, FollowsTheAlgorithmInDouble) {
  const size_t n = 1003;
  std::vector<double> expected, m(n), v(n);
  const std::vector<float> params = in_every_way([&](const Loops& loops) {
    Random random(3);
    Optimiser adam(n);
    fill_uniform(adam.params, random, -1, 1);
    expected.assign(adam.params.begin(), adam.params.end()), m.assign(n, 0), v.assign(n, 0);
    for (int t = 1; t <= 50; ++t) {
      const std::vector<float> gradient = uniforms(random, n, -1, 1);
      const double rate = 0.01 / t;
      for (size_t i = 0; i < n; ++i) {
        m[i] = 0.9 * m[i] + 0.1 * gradient[i];
        v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
        expected[i] -= rate * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      }
      adam.step(gradient, rate, loops);
    }
    return adam.params;
  });
  for (size_t i = 0; i < n; ++i) EXPECT_NEAR(params[i], expected[i], 1e-6);
}

// With a learning rate of 0.1, a decay of 0.5 multiplies the parameters by 0.95 in each step, and Adam's first step is
// the learning rate (with its epsilon, 0.1 * 3 / (3 + 1e-8)).
TEST(AdamW, ShrinksTheParametersBeforeEachStepOfAdam) {
  Optimiser adam(2);
  adam.rule.type = OptimizerType::adamw, adam.rule.weight_decay = 0.5;
  adam.params = {2, -4};
  adam.step({3, 0}, 0.1);
  EXPECT_NEAR(adam.params[0], 2 * 0.95 - 0.1, 1e-6);
  EXPECT_NEAR(adam.params[1], -4 * 0.95, 1e-6) << "without a gradient";
  adam.step({3, 0}, 0.2);
  EXPECT_NEAR(adam.params[0], (2 * 0.95 - 0.1) * 0.9 - 0.2, 1e-6);
}

// The gradients 2, -1, 4 with momentum 0.5 and rates 0.1, 0.1, 0.2: b is 2, 0, 4.
TEST(Sgd, FollowsTheGradientsWithMomentum) {
  for (size_t n : {size_t{1}, size_t{37}}) {
    const std::vector<float> params = in_every_way([&](const Loops& loops) {
      Optimiser sgd(n);
      sgd.rule.type = OptimizerType::sgd, sgd.rule.momentum = 0.5;
      sgd.params.assign(n, 1);
      sgd.step(std::vector<float>(n, 2), 0.1, loops);
      EXPECT_NEAR(sgd.params[n - 1], 1 - 0.1 * 2, 1e-7);
      sgd.step(std::vector<float>(n, -1), 0.1, loops);
      EXPECT_NEAR(sgd.params[n - 1], 1 - 0.1 * 2, 1e-7);
      sgd.step(std::vector<float>(n, 4), 0.2, loops);
      return sgd.params;
    });
    for (float p : params) EXPECT_NEAR(p, 1 - 0.1 * 2 - 0.2 * 4, 1e-6);
  }
}

TEST(Sgd, ClampsStandardDeviationsAndIgnoresAGradientThatIsNotFinite) {
  Optimiser sgd(3);
  sgd.rule.type = OptimizerType::sgd, sgd.std_begin = 1, sgd.std_end = 2;
  sgd.step({1, 10, 0}, 0.1);
  EXPECT_NEAR(sgd.params[0], -0.1, 1e-7);
  EXPECT_EQ(sgd.params[1], -0.5f) << "the lower bound";
  sgd.step({1, NAN, 0}, 0.1);
  EXPECT_NEAR(sgd.params[0], -0.1, 1e-7);
}

// Parameters 0 to 2 are the first group's. SGD's step is the rate times the gradient.
TEST(Groups, MayHaveTheirOwnRatesAndNorms) {
  const auto after_a_step = [](const OptimizerRule& rule, double rate) {
    Optimiser sgd(5, {3, 5});
    sgd.rule = rule, sgd.rule.type = OptimizerType::sgd, sgd.max_norm = 0;
    sgd.step({3, 0, 4, 3, 4}, rate);
    return sgd.params;
  };
  OptimizerRule rule{.groups = {{0.1, 10}, {0.3, 10, GroupSchedule::proportional}}};
  EXPECT_NEAR(after_a_step(rule, 0.1)[2], -0.4, 1e-6);
  EXPECT_NEAR(after_a_step(rule, 0.1)[4], -1.2, 1e-6);
  EXPECT_NEAR(after_a_step(rule, 0.05)[4], -0.6, 1e-6) << "a linear schedule changes both rates by the same factor";
  rule.groups[1].schedule = GroupSchedule::constant;
  EXPECT_NEAR(after_a_step(rule, 0.05)[2], -0.2, 1e-6);
  EXPECT_NEAR(after_a_step(rule, 0.05)[4], -1.2, 1e-6) << "an adaptive one may keep the second";
  rule = {.groups = {{0.1, 1}, {0.1, 2.5}}};
  EXPECT_NEAR(after_a_step(rule, 0.1)[2], -0.1 * 4 / 5, 1e-6);
  EXPECT_NEAR(after_a_step(rule, 0.1)[4], -0.1 * 4 / 2, 1e-6);
}

// The standard deviations' range of parameters starts and ends inside packs of lanes or at their borders.
TEST(Adam, ClampsOnlyTheStandardDeviationsToTheirBounds) {
  for (const auto& [begin, end] : {std::pair{0, 3}, {5, 6}, {13, 35}, {16, 32}, {38, 39}}) {
    const std::vector<float> params = in_every_way([&](const Loops& loops) {
      Optimiser adam(39);
      adam.std_begin = begin, adam.std_end = end;
      for (size_t i = 0; i < 39; ++i) adam.params[i] = i % 2 ? 2.0f : -2.0f;
      adam.step(std::vector<float>(39), 0.1, loops);
      return adam.params;
    });
    for (int i = 0; i < 39; ++i)
      EXPECT_EQ(params[i], begin <= i && i < end ? (i % 2 ? 0.25f : -0.5f) : (i % 2 ? 2.0f : -2.0f)) << i;
  }
}

// The actor's gradient (3, 0, 4) has norm 5 and the critic's (0.3, 0.4) has norm 0.5. With epsilon 1 the length of the
// first step depends on the clipped gradient.
TEST(ClipGradient, ScalesDownOnlyGradientsWithALargerNorm) {
  for (double max_norm : {10.0, 1.0, 0.25}) {
    Optimiser adam(5, {3, 5});
    adam.max_norm = max_norm, adam.epsilon = 1;
    const std::vector<float> gradient = {3, 0, 4, 0.3f, 0.4f};
    adam.step(gradient, 0.1);
    for (int i = 0; i < 5; ++i) {
      const double g = gradient[i] * std::min(1.0, max_norm / (i < 3 ? 5 : 0.5));
      EXPECT_NEAR(adam.params[i], -0.1 * g / (g + 1), 1e-6) << "norm " << max_norm << ", number " << i;
    }
    EXPECT_NEAR(adam.numbers.gradient_norm, std::hypot(5, 0.5), 1e-6);
  }
}

// Both gradients together have norm 5.0249.
TEST(ClipGradient, CanScaleActorAndCriticJointly) {
  for (double max_norm : {10.0, 1.0, 0.25}) {
    Optimiser adam(5, {3, 5});
    adam.joint = true, adam.max_norm = max_norm, adam.epsilon = 1;
    const std::vector<float> gradient = {3, 0, 4, 0.3f, 0.4f};
    adam.step(gradient, 0.1);
    for (int i = 0; i < 5; ++i) {
      const double g = gradient[i] * std::min(1.0, max_norm / std::hypot(5, 0.5));
      EXPECT_NEAR(adam.params[i], -0.1 * g / (g + 1), 1e-6) << "norm " << max_norm << ", number " << i;
    }
  }
}

TEST(ClipGradient, ComputesTheNormsOfGradientsOfManySizes) {
  for (int64_t n : {1, 7, 8, 9, 1000})
    for (const std::vector<int64_t>& ends :
         std::vector<std::vector<int64_t>>{{n}, {0, n}, {n / 2, n}, {n / 2, n - 1, n}}) {
      Random random(4);
      const std::vector<float> gradient = uniforms(random, n, -1, 1);
      std::vector<double> squares(kMaxGroups);
      for (int64_t i = 0; i < n; ++i)
        squares[static_cast<size_t>(std::ranges::upper_bound(ends, i) - ends.begin())] +=
            double{gradient[i]} * gradient[i];
      const std::vector<double> norms = in_every_way([&](const Loops& loops) {
        Optimiser adam(gradient.size(), ends);
        adam.step(gradient, 0.1, loops);
        return std::vector<double>(adam.numbers.squared_norms, adam.numbers.squared_norms + kMaxGroups);
      });
      for (size_t g = 0; g < kMaxGroups; ++g) EXPECT_NEAR(norms[g], squares[g], 1e-12 * static_cast<double>(n));
    }
}

// A temperature is a group of one parameter after those of the networks. Lanes of one pack belong to three groups.
TEST(Groups, MayHaveOneParameter) {
  for (size_t n : {size_t{6}, size_t{38}}) {
    const auto end = static_cast<int64_t>(n);
    const std::vector<float> params = in_every_way([&](const Loops& loops) {
      Optimiser sgd(n, {end - 3, end - 1, end});
      sgd.rule = {.type = OptimizerType::sgd,
                  .groups = {{0.1, 1e9}, {0.2, 1e9, GroupSchedule::constant}, {0.5, 2, GroupSchedule::constant}}};
      sgd.max_norm = 0;
      sgd.step(std::vector<float>(n, 4), 0.1, loops);
      return sgd.params;
    });
    for (size_t i = 0; i < n; ++i)
      EXPECT_NEAR(params[i], i + 3 < n ? -0.4 : i + 1 < n ? -0.8 : -1, 1e-6) << i << " of " << n;
  }
}

TEST(ClipGradient, TheGroupWhoseGradientIsNotFiniteIsKnown) {
  Optimiser adam(4, {2, 3, 4});
  adam.step({1, 1, 1, NAN}, 0.1);
  EXPECT_EQ(adam.numbers.not_finite, 3);
  adam.step({1, INFINITY, 1, 1}, 0.1);
  EXPECT_EQ(adam.numbers.not_finite, 3) << "the first of the iteration";
}

TEST(ClipGradient, AGradientThatIsNotFiniteIsReportedAndChangesNothing) {
  for (float bad : {NAN, INFINITY}) {
    Optimiser adam(2);
    adam.step({1, bad}, 0.1);
    EXPECT_EQ(adam.numbers.not_finite, 1);
    EXPECT_EQ(adam.params, std::vector<float>(2));
    EXPECT_EQ(adam.m, std::vector<float>(2));
  }
}

TEST(AdaptedLearningRate, MovesTowardsTheDesiredKlWithinItsBounds) {
  const double kl = 0.01;
  EXPECT_DOUBLE_EQ(adapted_learning_rate(1e-3, 0.03, kl), 1e-3 / 1.5);
  EXPECT_DOUBLE_EQ(adapted_learning_rate(1e-3, 0.003, kl), 1e-3 * 1.5);
  EXPECT_EQ(adapted_learning_rate(1e-3, 0.01, kl), 1e-3);
  EXPECT_EQ(adapted_learning_rate(1e-3, 0.02, kl), 1e-3);   // exactly twice
  EXPECT_EQ(adapted_learning_rate(1e-3, 0.005, kl), 1e-3);  // exactly half
  EXPECT_EQ(adapted_learning_rate(1e-3, 0, kl), 1e-3);
  EXPECT_EQ(adapted_learning_rate(1e-3, -1e-9, kl), 1e-3);  // rounding
  EXPECT_EQ(adapted_learning_rate(1.2e-5, 1, kl), 1e-5);
  EXPECT_EQ(adapted_learning_rate(9e-3, 0.001, kl), 1e-2);
  EXPECT_EQ(adapted_learning_rate(1e-6, 1, kl), 1e-6);  // never changes in the other direction
  EXPECT_EQ(adapted_learning_rate(0.05, 0.001, kl), 0.05);
  EXPECT_DOUBLE_EQ(adapted_learning_rate(1e-6, 0.001, kl), 1.5e-6);
}

// The advantages of all ranks are 1, 2 and 6. They have mean 3 and squared distances 4, 1 and 9, so their unbiased
// variance (as in torch.std) is 14/2.
TEST(StandardizeAdvantages, NormalisesByMeanAndUnbiasedDeviation) {
  UpdateNumbers numbers{};
  int64_t lifetime_step = 0;
  const UpdateInputs inputs{.iteration = 11, .learning_rate = 0.5, .desired_kl = 0.01, .entropy_coef = 0};
  LossSettings settings;
  const double sums[] = {3, 9, 41};
  Loops()(1, StandardizeAdvantages{{&numbers, &inputs, &lifetime_step, 64}, &settings, sums});
  EXPECT_EQ(numbers.learning_rate, 0.5) << "this kernel includes ResetUpdateNumbers";
  EXPECT_EQ(settings.advantage_mean, 3);
  EXPECT_NEAR(settings.advantage_inv_std, 1 / (std::sqrt(7.0) + 1e-8), 1e-8);
}

// Mini-batch 1 of 3 in an epoch of 9 samples has the advantages 1, 2, 6.
TEST(StandardizeMiniBatch, UsesTheMomentsOfTheCurrentMiniBatch) {
  UpdateNumbers numbers{};
  numbers.mini_batch = 1;
  LossSettings settings;
  const double sums[] = {9, 1e3, 1e9}, moments[] = {7, 8, 9, 41, 5, 6};
  Loops()(1, StandardizeMiniBatch{&settings, &numbers, 3, sums, moments});
  EXPECT_EQ(settings.advantage_mean, 3);
  EXPECT_NEAR(settings.advantage_inv_std, 1 / std::sqrt(7.0), 1e-7);
}

TEST(ResetUpdateNumbers, ClearsTheSumsAndKeepsAnAdaptiveLearningRate) {
  UpdateNumbers numbers{};
  numbers.mini_batch = 7, numbers.sums[kSamples] = 5, numbers.learning_rate = 0.25;
  int64_t lifetime_step = 100;
  UpdateInputs inputs{.iteration = 11,
                      .learning_rate = std::numeric_limits<double>::quiet_NaN(),
                      .desired_kl = 0.02,
                      .entropy_coef = 0};
  Loops()(1, ResetUpdateNumbers{&numbers, &inputs, &lifetime_step, 64});
  EXPECT_EQ(lifetime_step, 164);
  EXPECT_EQ(numbers.iteration, 11);
  EXPECT_EQ(numbers.desired_kl, 0.02);
  EXPECT_EQ(numbers.mini_batch, 0);
  EXPECT_EQ(numbers.sums[kSamples], 0);
  EXPECT_EQ(numbers.learning_rate, 0.25);  // adaptive: unchanged
  inputs.learning_rate = 0.5;
  Loops()(1, ResetUpdateNumbers{&numbers, &inputs, &lifetime_step, 64});
  EXPECT_EQ(numbers.learning_rate, 0.5);
}

}  // namespace
}  // namespace drl
