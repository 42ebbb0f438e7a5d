#include <gtest/gtest.h>

#include <limits>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"

namespace drl {
namespace {

using namespace test;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Stored samples, the networks' outputs for the samples of a mini-batch, and the loss's results for them.
struct Example {
  Example(const ActionSpace& space, size_t samples) : discrete(space.discrete), size(space.size) {
    for (auto* numbers : {&log_prob, &advantage, &old_value, &target}) numbers->resize(samples);
    for (auto* numbers : {&old_policy, &action}) numbers->resize(samples * static_cast<size_t>(size));
    choice.resize(samples);
    std.resize(discrete ? 0 : static_cast<size_t>(size)), std_param = std;
  }

  // Computes the loss in tiles of `tile` samples. Returns all results.
  std::vector<float> run(const Loops& loops = Loops(), size_t tile = 1024) {
    d_policy.assign(policy.size(), NAN), d_value.assign(value.size(), NAN), d_std.assign(std_param.size(), NAN);
    if (discrete)
      run(Categorical{size}, choice.data(), loops, tile);
    else
      run(Gaussian{size, nullptr, nullptr, std_param.data(), log_std, std.data()}, action.data(), loops, tile);
    std::vector<float> all(tail, tail + kLossColumns);
    for (const auto* more : {&d_policy, &d_value, &d_std}) all.insert(all.end(), more->begin(), more->end());
    return all;
  }
  float sum(int column) const { return tail[column]; }

  bool discrete;
  int size;
  std::vector<float> log_prob, advantage, old_value, target, old_policy, action, std;
  std::vector<int32_t> choice, rows = {0};
  LossSettings settings;
  std::vector<float> policy, value, std_param;
  bool log_std = true;
  std::vector<float> d_policy, d_value, d_std;
  float tail[kLossColumns];

 private:
  template <class Policy>
  void run(const Policy& distribution, typename Policy::Action* taken, const Loops& loops, size_t tile) {
    RolloutView r{};
    r.action = reinterpret_cast<std::byte*>(taken), r.policy_out = old_policy.data(), r.log_prob = log_prob.data();
    r.value = old_value.data(), r.advantage = advantage.data(), r.return_target = target.data();
    std::vector<double> scratch(kSumLanes * (kLossColumns + std_param.size()));
    for (size_t first = 0; first < rows.size(); first += tile) {
      const auto count = static_cast<int64_t>(std::min(tile, rows.size() - first));
      const size_t out = first * static_cast<size_t>(size);
      const PpoLoss<Policy> loss{
          distribution, r, &settings, {&rows[first], &policy[out], &value[first], &d_policy[out], &d_value[first]}};
      loops(count, HostSumRows<PpoLoss<Policy>>{loss, scratch.data()});
    }
    finish_sums(loops.queue(), static_cast<int64_t>(kLossColumns + std_param.size()), scratch.data(),
                StoreLoss{kLossColumns, tail, d_std.data()});
  }
};

// One Gaussian dimension, computed by hand: old policy N(0, 1), action 1, new policy N(0.5, 2).
//   log p_old = -1/2 - log sqrt(2 pi) = -1.418939; log p_new = -(0.25)^2/2 - log 2 - log sqrt(2 pi) = -1.643336
//   ratio = 0.798998; KL = log 2 + (1 + 0.25)/8 - 1/2 = 0.349397; entropy = 1/2 + log sqrt(2 pi) + log 2 = 2.112086
TEST(PpoLoss, EqualsAGaussianExampleComputedByHand) {
  Example one(gaussian_task(1, 1).action, 1);
  one.std = {1}, one.old_policy = {0}, one.action = {1}, one.log_prob = {-1.4189385f};
  one.advantage = {2}, one.old_value = {1}, one.target = {3};
  one.policy = {0.5f}, one.value = {1.1f}, one.std_param = {0.6931472f};
  one.settings.entropy_coef = 0.01f, one.settings.clip_param = 0.3f;
  one.run();
  EXPECT_EQ(one.tail[0], 1);
  EXPECT_NEAR(one.sum(kSurrogate), -2 * 0.798998, 1e-5);
  EXPECT_NEAR(one.sum(kKl), 0.349397, 1e-6);
  EXPECT_NEAR(one.sum(kEntropy), 2.112086, 1e-6);
  EXPECT_NEAR(one.sum(kValue), 1.9 * 1.9, 1e-5);
  EXPECT_EQ(one.sum(kClipped), 0);
  EXPECT_NEAR(one.d_value[0], -2 * 1.9, 1e-6);
  // d log p / d mean = (a - mean)/std^2 = 0.125; d log p / d log std = z^2 - 1 = -0.9375; the entropy's slope is 1.
  EXPECT_NEAR(one.d_policy[0], -2 * 0.798998 * 0.125, 1e-5);
  EXPECT_NEAR(one.d_std[0], -2 * 0.798998 * -0.9375 - 0.01, 1e-5);
}

// With old probabilities (1/2, 1/2), new ones (3/4, 1/4) and choice 0, the ratio is 1.5 and the KL is
// 1/2 log(2/3) + 1/2 log 2 = 1/2 log(4/3).
TEST(PpoLoss, EqualsACategoricalExampleComputedByHand) {
  Example one(categorical_task(1, 2).action, 1);
  one.log_prob[0] = std::log(0.5f);
  one.advantage[0] = -1;
  one.policy = {std::log(3.0f) + 5, 5};  // a common shift of the logits changes nothing
  one.value = {0};
  one.settings.entropy_coef = 0.1f;
  one.run();
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_NEAR(one.sum(kSurrogate), 1.5, 1e-6);
  EXPECT_NEAR(one.sum(kKl), 0.5 * std::log(4.0 / 3), 1e-6);
  EXPECT_NEAR(one.sum(kEntropy), entropy, 1e-6);
  EXPECT_EQ(one.sum(kClipped), 1);
  // d log p_0 / d logits = (1 - 3/4, -1/4), times 1.5; the entropy's slope is -p (log p + H).
  EXPECT_NEAR(one.d_policy[0], 1.5 * 0.25 + 0.1 * 0.75 * (std::log(0.75) + entropy), 1e-6);
  EXPECT_NEAR(one.d_policy[1], -1.5 * 0.25 + 0.1 * 0.25 * (std::log(0.25) + entropy), 1e-6);
}

struct Terms {
  double surrogate = 0, value = 0, entropy = 0, kl = 0, clipped = 0;
};

// The loss in double, written independently from the formulas of PPO.
class PpoFormula {
 public:
  explicit PpoFormula(const Example& e)
      : policy(e.policy.begin(), e.policy.end()),
        value(e.value.begin(), e.value.end()),
        std_param(e.std_param.begin(), e.std_param.end()),
        e_(e) {}

  double loss() const {
    double sum = 0;
    for (size_t i = 0; i < e_.rows.size(); ++i) {
      const Terms t = terms(i);
      sum += t.surrogate + e_.settings.value_loss_coef * t.value - e_.settings.entropy_coef * t.entropy;
    }
    return sum;
  }

  Terms terms(size_t i) const {
    const auto row = static_cast<size_t>(e_.rows[i]), size = static_cast<size_t>(e_.size);
    std::vector<double> std = std_param;
    for (double& s : std) s = e_.log_std ? std::exp(s) : s;
    const double* now = &policy[i * size];
    const float* before = &e_.old_policy[row * size];
    const Formula f = e_.discrete
                          ? Formula::categorical(e_.size, now, before, e_.choice[row])
                          : Formula::gaussian(e_.size, now, std.data(), before, e_.std.data(), &e_.action[row * size]);
    const LossSettings& s = e_.settings;
    const double advantage = (double{e_.advantage[row]} - s.advantage_mean) * s.advantage_inv_std;
    const double ratio = std::exp(f.log_prob - e_.log_prob[row]), eps = s.clip_param, clip = s.value_clip;
    const double limited = std::min(std::max(ratio, 1 - eps), 1 + eps);
    const double old = e_.old_value[row], target = e_.target[row];
    const double near = old + std::min(std::max(value[i] - old, -clip), clip);
    return {std::max(-advantage * ratio, -advantage * limited),
            std::max(std::pow(value[i] - target, 2), std::pow(near - target, 2)), f.entropy, f.kl,
            static_cast<double>(ratio != limited)};
  }

  std::vector<double> policy, value, std_param;

 private:
  const Example& e_;
};

struct Case {
  std::string name;
  bool discrete;
  int actions;
  bool log_std;
  float value_clip, entropy_coef;
};

// Makes an example with 700 of 800 samples in shuffled order. The old policy is close to the new one, so that ratios
// are inside the clip range and on both sides of it.
Example random_example(const Case& c) {
  Random random(7);
  Example e(c.discrete ? categorical_task(2, c.actions).action : gaussian_task(2, c.actions).action, 800);
  for (auto* numbers : {&e.old_policy, &e.old_value, &e.target}) fill_uniform(*numbers, random, -1, 1);
  for (auto* numbers : {&e.action, &e.advantage}) fill_uniform(*numbers, random, -2, 2);
  fill_uniform(e.std, random, 0.5, 1.5);
  e.log_std = c.log_std;
  e.settings = {0.2f, c.value_clip, 0.7f, c.entropy_coef, 1, 0.1f, 0.8f};
  const auto size = static_cast<size_t>(c.actions);
  for (size_t i = 0; i < 800; ++i) {
    e.choice[i] = static_cast<int32_t>(random() % size);
    const std::vector<double> before(&e.old_policy[i * size], &e.old_policy[i * size] + size),
        std(e.std.begin(), e.std.end());
    const float* old = &e.old_policy[i * size];
    e.log_prob[i] = static_cast<float>(
        c.discrete
            ? Formula::categorical(c.actions, before.data(), old, e.choice[i]).log_prob
            : Formula::gaussian(c.actions, before.data(), std.data(), old, e.std.data(), &e.action[i * size]).log_prob);
  }
  e.rows = shuffled(random, 800);
  e.rows.resize(700);
  e.value = uniforms(random, 700, -1, 1);
  for (int32_t row : e.rows)
    for (size_t k = 0; k < size; ++k)
      e.policy.push_back(e.old_policy[static_cast<size_t>(row) * size + k] + uniform(random, -0.3, 0.3));
  for (size_t k = 0; k < e.std.size(); ++k) {
    const float now = e.std[k] * uniform(random, 0.9, 1.1);
    e.std_param[k] = c.log_std ? std::log(now) : now;
  }
  return e;
}

class PpoLossOn : public testing::TestWithParam<Case> {};

TEST_P(PpoLossOn, EqualsTheFormulaInDouble) {
  const Case& c = GetParam();
  Example e = random_example(c);
  e.run();
  PpoFormula formula(e);
  Terms sum;
  for (size_t i = 0; i < e.rows.size(); ++i) {
    const Terms t = formula.terms(i);
    sum.surrogate += t.surrogate, sum.value += t.value, sum.entropy += t.entropy, sum.kl += t.kl,
        sum.clipped += t.clipped;
  }
  EXPECT_EQ(e.tail[0], 700);
  EXPECT_NEAR(e.sum(kSurrogate), sum.surrogate, 1e-3);
  EXPECT_NEAR(e.sum(kValue), sum.value, 1e-3);
  EXPECT_NEAR(e.sum(kEntropy), sum.entropy, 1e-3);
  EXPECT_NEAR(e.sum(kKl), sum.kl, 1e-3);
  EXPECT_EQ(e.sum(kClipped), sum.clipped);
  EXPECT_GT(sum.clipped, 50);
  EXPECT_LT(sum.clipped, 650);

  const auto loss = [&] { return formula.loss(); };
  for (size_t i : {0, 1, 100, 255, 256, 511, 687, 688, 695, 696, 699}) {  // includes the borders of the last packs
    EXPECT_NEAR(e.d_value[i], slope(loss, formula.value[i]), 1e-4) << "sample " << i;
    for (int k = 0; k < c.actions; ++k) {
      const size_t at = i * static_cast<size_t>(c.actions) + static_cast<size_t>(k);
      EXPECT_NEAR(e.d_policy[at], slope(loss, formula.policy[at]), 1e-4) << "sample " << i << ", output " << k;
    }
  }
  for (size_t k = 0; k < e.std_param.size(); ++k) {
    const double expected = slope(loss, formula.std_param[k]);
    EXPECT_NEAR(e.d_std[k], expected, 1e-3 + 1e-5 * std::abs(expected)) << "std " << k;
  }
}

TEST_P(PpoLossOn, IsBitIdenticalOnEveryInstructionSetAndForEveryTileSize) {
  Example e = random_example(GetParam());
  const std::vector<float> all = in_every_way([&](const Loops& loops) { return e.run(loops); });
  EXPECT_EQ(e.run(Loops(), 256), all);
  EXPECT_EQ(e.run(Loops(), 16), all);
}

INSTANTIATE_TEST_SUITE_P(Policies, PpoLossOn,
                         testing::Values(Case{"Gaussian1Log", false, 1, true, 0.2f, 0.01f},
                                         Case{"Gaussian1Scalar", false, 1, false, 0.2f, 0.01f},
                                         Case{"Gaussian3Log", false, 3, true, 0.2f, 0.02f},
                                         Case{"Gaussian3Scalar", false, 3, false, kInfinity, 0.02f},
                                         Case{"Categorical2", true, 2, true, 0.2f, 0.01f},
                                         Case{"Categorical5", true, 5, true, kInfinity, 0.05f}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
