#include "learn/ppo_loss.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What the networks say for the samples of a mini-batch, and the gradients that come back.
struct Outputs {
  std::vector<float> policy, value, std_param;
  bool log_std = true;
  std::vector<float> d_policy, d_value;
  std::vector<double> d_std;
  LossSums sums;

  void run(const Rollout& r, const std::vector<int32_t>& rows, const LossSettings& settings) {
    d_policy.assign(policy.size(), NAN);
    d_value.assign(value.size(), NAN);
    d_std.assign(std_param.size(), 0);
    sums = {};
    ppo_loss(r, rows, settings, {policy.data(), value.data(), std_param.data(), log_std},
             {d_policy.data(), d_value.data(), d_std.data()}, sums);
  }
};

// The loss in double, written down independently from the formulas of PPO.
struct Terms {
  double surrogate = 0, value = 0, entropy = 0, kl = 0, clipped = 0;
};

class Formula {
 public:
  Formula(const Rollout& r, const std::vector<int32_t>& rows, const LossSettings& s, const Outputs& o)
      : policy(o.policy.begin(), o.policy.end()),
        value(o.value.begin(), o.value.end()),
        std_param(o.std_param.begin(), o.std_param.end()),
        r_(r),
        rows_(rows),
        s_(s),
        log_std_(o.log_std) {}

  double loss() const {
    double sum = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Terms t = terms(i);
      sum += t.surrogate + s_.value_loss_coef * t.value - s_.entropy_coef * t.entropy;
    }
    return sum;
  }

  Terms terms(size_t i) const {
    const int32_t row = rows_[i];
    Terms t = r_.discrete ? categorical(i) : gaussian(i);
    const double advantage = (double{r_.advantage[row]} - s_.advantage_mean) * s_.advantage_inv_std;
    const double ratio = std::exp(log_prob_ - r_.log_prob[row]), eps = s_.clip_param;
    const double limited = std::min(std::max(ratio, 1 - eps), 1 + eps);
    t.surrogate = std::max(-advantage * ratio, -advantage * limited);
    t.clipped = ratio != limited;
    const double old = r_.value[row], target = r_.return_target[row], clip = s_.value_clip;
    const double near = old + std::min(std::max(value[i] - old, -clip), clip);
    t.value = std::max(std::pow(value[i] - target, 2), std::pow(near - target, 2));
    return t;
  }

  std::vector<double> policy, value, std_param;

 private:
  Terms gaussian(size_t i) const {
    Terms t;
    log_prob_ = 0;
    const int64_t row = rows_[i], size = r_.action_size;
    for (int64_t k = 0; k < size; ++k) {
      const double std = log_std_ ? std::exp(std_param[k]) : std_param[k], old_std = r_.std[k];
      const double mean = policy[i * size + k], old_mean = r_.policy_out[row * size + k];
      log_prob_ += gaussian_log_prob(r_.action[row * size + k], mean, std);
      t.entropy += 0.5 * std::log(2 * std::acos(-1.0) * std::exp(1.0) * std * std);
      t.kl += std::log(std / old_std) + (old_std * old_std + std::pow(old_mean - mean, 2)) / (2 * std * std) - 0.5;
    }
    return t;
  }

  Terms categorical(size_t i) const {
    Terms t;
    const int64_t row = rows_[i], size = r_.action_size;
    double sum = 0;
    for (int64_t k = 0; k < size; ++k) sum += std::exp(policy[i * size + k]);
    const std::vector<double> old = softmax(&r_.policy_out[row * size], size);
    for (int64_t k = 0; k < size; ++k) {
      const double p = std::exp(policy[i * size + k]) / sum;
      t.entropy -= p * std::log(p);
      t.kl += old[k] * std::log(old[k] / p);
      if (k == r_.choice[row]) log_prob_ = std::log(p);
    }
    return t;
  }

  const Rollout& r_;
  const std::vector<int32_t>& rows_;
  LossSettings s_;
  bool log_std_;
  mutable double log_prob_ = 0;
};

double slope(const Formula& formula, double& x) {
  const double h = 1e-6, at = x;
  x = at + h;
  const double above = formula.loss();
  x = at - h;
  const double below = formula.loss();
  x = at;
  return (above - below) / (2 * h);
}

// One Gaussian dimension by hand: old policy N(0, 1), action 1, new policy N(0.5, 2).
//   log p_old = -1/2 - log sqrt(2 pi) = -1.418939; log p_new = -(0.25)^2/2 - log 2 - log sqrt(2 pi) = -1.643336
//   ratio = 0.798998; KL = log 2 + (1 + 0.25)/8 - 1/2 = 0.349397; entropy = 1/2 + log sqrt(2 pi) + log 2 = 2.112086
struct OneDimension {
  OneDimension() : rollout(gaussian_task(1, 1), 1, 1) {
    rollout.std[0] = 1;
    rollout.policy_out[0] = 0;
    rollout.action[0] = 1;
    rollout.log_prob[0] = -1.4189385f;
    rollout.advantage[0] = 2;
    rollout.value[0] = 1;
    rollout.return_target[0] = 3;
    outputs.policy = {0.5f};
    outputs.value = {1.1f};
    outputs.std_param = {0.6931472f};
    settings.entropy_coef = 0.01f;
  }
  void run() { outputs.run(rollout, {0}, settings); }

  Rollout rollout;
  Outputs outputs;
  LossSettings settings;
};

TEST(PpoLoss, GaussianOneDimensionByHand) {
  OneDimension one;
  one.settings.clip_param = 0.3f;
  one.run();
  EXPECT_EQ(one.outputs.sums.n, 1);
  EXPECT_NEAR(one.outputs.sums.surrogate, -2 * 0.798998, 1e-5);
  EXPECT_NEAR(one.outputs.sums.kl, 0.349397, 1e-6);
  EXPECT_NEAR(one.outputs.sums.entropy, 2.112086, 1e-6);
  EXPECT_NEAR(one.outputs.sums.value, 1.9 * 1.9, 1e-5);
  EXPECT_EQ(one.outputs.sums.clipped, 0);
  EXPECT_NEAR(one.outputs.d_value[0], -2 * 1.9, 1e-6);
  // d log p / d mean = (a - mean)/std^2 = 0.125; d log p / d log std = z^2 - 1 = -0.9375; the entropy's slope is 1.
  EXPECT_NEAR(one.outputs.d_policy[0], -2 * 0.798998 * 0.125, 1e-5);
  EXPECT_NEAR(one.outputs.d_std[0], -2 * 0.798998 * -0.9375 - 0.01, 1e-5);
}

TEST(PpoLoss, StdAsItsOwnParameterHasTheSlopeOverStd) {
  OneDimension one;
  one.settings.clip_param = 0.3f;
  one.outputs.std_param = {2};
  one.outputs.log_std = false;
  one.run();
  EXPECT_NEAR(one.outputs.sums.kl, 0.349397, 1e-6);
  EXPECT_NEAR(one.outputs.d_std[0], (-2 * 0.798998 * -0.9375 - 0.01) / 2, 1e-5);
}

// ratio 0.798998 is below 1 - 0.2. With A > 0 the plain term is the larger loss and keeps its slope; with A < 0 the
// clip holds, and only the entropy moves the policy.
TEST(PpoLoss, RatioBelowTheClip) {
  OneDimension one;
  one.run();
  EXPECT_NEAR(one.outputs.sums.surrogate, -2 * 0.798998, 1e-5);
  EXPECT_EQ(one.outputs.sums.clipped, 1);
  EXPECT_NEAR(one.outputs.d_policy[0], -2 * 0.798998 * 0.125, 1e-5);
  one.rollout.advantage[0] = -2;
  one.run();
  EXPECT_NEAR(one.outputs.sums.surrogate, 2 * 0.8, 1e-5);
  EXPECT_EQ(one.outputs.d_policy[0], 0);
  EXPECT_NEAR(one.outputs.d_std[0], -0.01, 1e-7);
}

// Old log p lower by log 2: ratio 1.597995, above 1 + 0.2.
TEST(PpoLoss, RatioAboveTheClip) {
  OneDimension one;
  one.rollout.log_prob[0] -= 0.6931472f;
  one.run();
  EXPECT_NEAR(one.outputs.sums.surrogate, -2 * 1.2, 1e-5);
  EXPECT_EQ(one.outputs.sums.clipped, 1);
  EXPECT_EQ(one.outputs.d_policy[0], 0);
  one.rollout.advantage[0] = -2;
  one.run();
  EXPECT_NEAR(one.outputs.sums.surrogate, 2 * 1.597995, 2e-5);
  EXPECT_NEAR(one.outputs.d_policy[0], 2 * 1.597995 * 0.125, 1e-5);
}

TEST(PpoLoss, AdvantagesAreNormalised) {
  OneDimension one;
  one.settings.clip_param = 0.3f;
  one.settings.advantage_mean = 0.5f;
  one.settings.advantage_inv_std = 4;
  one.run();
  EXPECT_NEAR(one.outputs.sums.surrogate, -(2 - 0.5) * 4 * 0.798998, 1e-5);
}

// Old value 1, value clip 0.2. Away from the target (3) the unclipped error is larger; towards it the clipped one is,
// and the value stops moving.
TEST(PpoLoss, ValueClip) {
  OneDimension one;
  one.settings.value_loss_coef = 0.5f;
  one.outputs.value = {1.5f};
  one.run();
  EXPECT_NEAR(one.outputs.sums.value, 1.8 * 1.8, 1e-5);
  EXPECT_EQ(one.outputs.d_value[0], 0);
  one.outputs.value = {0.5f};
  one.run();
  EXPECT_NEAR(one.outputs.sums.value, 2.5 * 2.5, 1e-5);
  EXPECT_NEAR(one.outputs.d_value[0], 0.5 * 2 * -2.5, 1e-5);
  one.settings.value_clip = kInfinity;
  one.outputs.value = {1.5f};
  one.run();
  EXPECT_NEAR(one.outputs.sums.value, 1.5 * 1.5, 1e-5);
  EXPECT_NEAR(one.outputs.d_value[0], 0.5 * 2 * -1.5, 1e-5);
}

// Old probabilities (1/2, 1/2), new (3/4, 1/4), choice 0: ratio 1.5; KL = 1/2 log(2/3) + 1/2 log 2 = 1/2 log(4/3).
TEST(PpoLoss, CategoricalByHand) {
  Rollout r(categorical_task(1, 2), 1, 1);
  r.log_prob[0] = std::log(0.5f);
  r.advantage[0] = -1;
  Outputs o;
  o.policy = {std::log(3.0f) + 5, 5};  // a common shift of the logits changes nothing
  o.value = {0};
  LossSettings settings;
  settings.entropy_coef = 0.1f;
  o.run(r, {0}, settings);
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_NEAR(o.sums.surrogate, 1.5, 1e-6);
  EXPECT_NEAR(o.sums.kl, 0.5 * std::log(4.0 / 3), 1e-6);
  EXPECT_NEAR(o.sums.entropy, entropy, 1e-6);
  EXPECT_EQ(o.sums.clipped, 1);
  // d log p_0 / d logits = (1 - 3/4, -1/4), times 1.5; the entropy's slope is -p (log p + H).
  EXPECT_NEAR(o.d_policy[0], 1.5 * 0.25 + 0.1 * 0.75 * (std::log(0.75) + entropy), 1e-6);
  EXPECT_NEAR(o.d_policy[1], -1.5 * 0.25 + 0.1 * 0.25 * (std::log(0.25) + entropy), 1e-6);
}

struct Case {
  std::string name;
  bool discrete;
  int actions;
  bool log_std;
  float value_clip, entropy_coef;
};

class PpoLossOn : public testing::TestWithParam<Case> {};

// 700 samples are three blocks; the rows are in another order than the rollout, and not all of it.
TEST_P(PpoLossOn, EqualsTheFormulaInDouble) {
  const Case& c = GetParam();
  Random random(7);
  Rollout r(c.discrete ? categorical_task(2, c.actions) : gaussian_task(2, c.actions), 8, 100);
  fill_random(r, random);
  std::vector<int32_t> rows = first_rows(800);
  std::shuffle(rows.begin(), rows.end(), random);
  rows.resize(700);
  Outputs o;
  o.log_std = c.log_std;
  o.value.resize(700);
  fill_uniform(o.value, random, -1, 1);
  for (int32_t row : rows)
    for (int k = 0; k < c.actions; ++k)
      o.policy.push_back(r.policy_out[row * c.actions + k] + uniform(random, -0.3, 0.3));
  for (size_t k = 0; k < r.std.size(); ++k) {
    const float std = r.std[k] * uniform(random, 0.9, 1.1);
    o.std_param.push_back(c.log_std ? std::log(std) : std);
  }
  const LossSettings settings{0.2f, c.value_clip, 0.7f, c.entropy_coef, 0.1f, 0.8f};
  o.run(r, rows, settings);

  Formula formula(r, rows, settings, o);
  Terms sum;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Terms t = formula.terms(i);
    sum.surrogate += t.surrogate, sum.value += t.value, sum.entropy += t.entropy, sum.kl += t.kl,
        sum.clipped += t.clipped;
  }
  EXPECT_EQ(o.sums.n, 700);
  EXPECT_NEAR(o.sums.surrogate, sum.surrogate, 1e-3);
  EXPECT_NEAR(o.sums.value, sum.value, 1e-3);
  EXPECT_NEAR(o.sums.entropy, sum.entropy, 1e-3);
  EXPECT_NEAR(o.sums.kl, sum.kl, 1e-3);
  EXPECT_EQ(o.sums.clipped, sum.clipped);
  EXPECT_GT(sum.clipped, 50);
  EXPECT_LT(sum.clipped, 650);

  for (size_t i : {0, 1, 100, 255, 256, 257, 511, 512, 513, 600, 699}) {  // around the blocks' borders
    EXPECT_NEAR(o.d_value[i], slope(formula, formula.value[i]), 1e-4) << "sample " << i;
    for (int k = 0; k < c.actions; ++k) {
      const size_t at = i * c.actions + k;
      EXPECT_NEAR(o.d_policy[at], slope(formula, formula.policy[at]), 1e-4) << "sample " << i << ", output " << k;
    }
  }
  for (size_t k = 0; k < o.std_param.size(); ++k) {
    const double expected = slope(formula, formula.std_param[k]);
    EXPECT_NEAR(o.d_std[k], expected, 1e-3 + 1e-5 * std::abs(expected)) << "std " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PpoLossOn,
                         testing::Values(Case{"Gaussian1Log", false, 1, true, 0.2f, 0.01f},
                                         Case{"Gaussian1Scalar", false, 1, false, 0.2f, 0.01f},
                                         Case{"Gaussian3Log", false, 3, true, 0.2f, 0.02f},
                                         Case{"Gaussian3Scalar", false, 3, false, kInfinity, 0.02f},
                                         Case{"Categorical2", true, 2, true, 0.2f, 0.01f},
                                         Case{"Categorical5", true, 5, true, kInfinity, 0.05f}),
                         [](const auto& info) { return info.param.name; });

TEST(PpoLoss, TailCarriesTheSums) {
  float tail[kTailSize];
  write_tail({1, 2, 3, 4, 5, 6}, tail);
  const LossSums sums = read_tail(tail);
  EXPECT_EQ(sums.n, 1);
  EXPECT_EQ(sums.kl, 2);
  EXPECT_EQ(sums.surrogate, 3);
  EXPECT_EQ(sums.value, 4);
  EXPECT_EQ(sums.entropy, 5);
  EXPECT_EQ(sums.clipped, 6);
}

}  // namespace
}  // namespace drl
