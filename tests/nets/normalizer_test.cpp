#include "nets/normalizer.hpp"

#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "nets/net_kernels.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kDim = 3;

// Returns random observations around (100, 0, -5) with spread 1, 10, 0.001.
std::vector<float> observations(Random& random, int64_t rows) {
  const double center[] = {100, 0, -5}, spread[] = {1, 10, 0.001};
  std::vector<float> obs;
  for (int64_t i = 0; i < rows * kDim; ++i)
    obs.push_back(static_cast<float>(center[i % kDim] + spread[i % kDim] * uniform(random, -1, 1)));
  return obs;
}

std::vector<double> moments_of(const Normalizer& normalizer, std::span<const float> obs) {
  std::vector<double> out(normalizer.moments_size()), scratch(kSumLanes * out.size());
  const size_t dim = (out.size() - 1) / 2;
  normalizer.moments(obs.data(), static_cast<int64_t>(obs.size() / dim), out.data(), scratch.data());
  return out;
}
void merge(Normalizer& normalizer, std::span<const float> obs) { normalizer.merge(moments_of(normalizer, obs)); }

// Returns the normalised observations as networks get them: from GatherRows, which must equal GatherInputs.
std::vector<float> normalized(const NormalizerView& view, std::span<const float> obs, size_t dim = kDim,
                              std::span<const int32_t> index = {}) {
  const size_t count = index.empty() ? obs.size() / dim : index.size();
  GatherInputs gather{
      {obs.data(), index.data(), static_cast<int64_t>(count), view}, static_cast<uint32_t>(dim), nullptr};
  const auto with = [&](bool by_rows) {
    return in_every_way([&](const Loops& loops) {
      std::vector<float> out(count * dim);
      gather.out = out.data();
      by_rows ? loops(static_cast<int64_t>(count), GatherRows{gather.rows, gather.inputs, gather.inputs, gather.out})
              : loops(static_cast<int64_t>(out.size()), gather);
      return out;
    });
  };
  const std::vector<float> by_rows = with(true);
  EXPECT_EQ(by_rows, with(false));
  return by_rows;
}

// Count, mean and variance, as a checkpoint stores them.
struct State final : StateVisitor {
  explicit State(Normalizer& normalizer) { normalizer.visit_state(*this, "n"); }
  void field(const StateField& f) override {
    numbers.insert(numbers.end(), static_cast<double*>(f.data), static_cast<double*>(f.data) + f.count());
    fields.push_back(f);
  }
  std::vector<double> numbers;
  std::vector<StateField> fields;
};

void expect_moments_of_all(Normalizer& normalizer, std::span<const float> obs) {
  const int64_t n = static_cast<int64_t>(obs.size()) / kDim;
  const State state(normalizer);
  EXPECT_EQ(state.numbers[0], n);
  for (int k = 0; k < kDim; ++k) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += obs[i * kDim + k] / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) variance += std::pow(obs[i * kDim + k] - mean, 2) / static_cast<double>(n);
    EXPECT_NEAR(state.numbers[1 + k], mean, 1e-10);
    EXPECT_NEAR(state.numbers[1 + kDim + k], variance, 1e-9 * variance + 1e-12);
  }
}

class NormalizerTest : public testing::Test {
 protected:
  Random random{5};
  std::unique_ptr<Queue> queue = host_queue();
};

TEST_F(NormalizerTest, MomentsEqualThoseComputedByHand) {
  Normalizer normalizer(*queue, 1);
  const float first[] = {1, 3}, second[] = {8};
  std::vector<double> moments = moments_of(normalizer, first);
  EXPECT_EQ(moments, (std::vector<double>{2, 4, 10}));  // n, sum, sum of squares about the mean 0
  normalizer.merge(moments);
  moments = moments_of(normalizer, second);
  EXPECT_EQ(moments, (std::vector<double>{1, 6, 36}));  // about the mean 2
  normalizer.merge(moments);
  EXPECT_EQ(normalizer.mean()[0], 4);
  EXPECT_NEAR(State(normalizer).numbers[2], 26.0 / 3, 1e-14);  // (9 + 1 + 16) / 3
  EXPECT_NEAR(normalized(normalizer.view(), second, 1)[0], 4 / (std::sqrt(26.0 / 3) + 0.01), 1e-6);
}

// An input is 0 for 1000 steps and then 0.5. EmpiricalNormalization of rsl_rl returns 0.5 / (0 + 0.01).
TEST_F(NormalizerTest, AnInputThatWasConstantIsDividedByEpsilonAndClipped) {
  const std::vector<float> constant(1000), changed = {0.5f, -0.5f, 0.05f};
  for (const auto& [clip, first] : {std::pair{10.0, 10.0f}, {0.0, 50.0f}}) {
    Normalizer normalizer(*queue, 1, {.eps = 1e-2, .clip = clip});
    merge(normalizer, constant);
    const std::vector<float> y = normalized(normalizer.view(), changed, 1);
    EXPECT_FLOAT_EQ(y[0], first);
    EXPECT_FLOAT_EQ(y[1], -first);
    EXPECT_FLOAT_EQ(y[2], 5);
  }
}

// VecNormalize of Stable-Baselines3 divides by sqrt(variance + epsilon). The variance of 1 and 3 is 1.
TEST_F(NormalizerTest, EpsilonCanBeInsideTheSquareRoot) {
  Normalizer normalizer(*queue, 1, {.eps = 3, .eps_inside_sqrt = true});
  const std::vector<float> obs = {1, 3};
  merge(normalizer, obs);
  EXPECT_EQ(normalized(normalizer.view(), obs, 1), (std::vector<float>{-0.5f, 0.5f}));
  EXPECT_EQ(normalizer.view().scaled(3.0f), 1.5f) << "the mean must not be subtracted";
}

TEST_F(NormalizerTest, ScaledValuesAreClipped) {
  Normalizer normalizer(*queue, 1, {.eps = 1, .clip = 2}), off(*queue, 0);
  EXPECT_EQ(normalizer.view().scaled(-7.0f), -2) << "before the first merge";
  EXPECT_EQ(normalizer.view().scaled(1.5f), 1.5f);
  merge(normalizer, std::vector<float>{1, 3});
  EXPECT_EQ(normalizer.view().scaled(3.0f), 1.5f);
  EXPECT_EQ(normalizer.view().scaled(5.0f), 2);
  EXPECT_EQ(off.view().scaled(-7.0f), -7);
}

TEST_F(NormalizerTest, NaNStaysNaN) { EXPECT_TRUE(std::isnan(Normalizer(*queue, 1, {.clip = 10}).view()(NAN, 0))); }

TEST_F(NormalizerTest, BeforeTheFirstMergeItOnlyClips) {
  const std::vector<float> obs = {1e-3f, -7, 1e9f};
  EXPECT_EQ(normalized(Normalizer(*queue, 3).view(), obs), obs);
  EXPECT_EQ(normalized(Normalizer(*queue, 3, {.clip = 10}).view(), obs), (std::vector<float>{1e-3f, -7, 10}));
}

TEST_F(NormalizerTest, IfSwitchedOffItIsTheIdentityWithoutState) {
  Normalizer off(*queue, 0);
  EXPECT_EQ(off.moments_size(), 0u);
  EXPECT_EQ(off.view().mean, nullptr);
  off.moments(nullptr, 5, nullptr, nullptr);
  off.merge({});
  EXPECT_TRUE(State(off).fields.empty());
  EXPECT_EQ(normalized(off.view(), std::vector<float>{5, 6}, 2), (std::vector<float>{5, 6}));
}

// The number of rows is not a multiple of any pack's size. The sums are about the mean of earlier observations.
TEST_F(NormalizerTest, MomentsAreBitIdenticalOnEveryInstructionSet) {
  const std::vector<float> before = observations(random, 50), obs = observations(random, 1003);
  in_every_way([&](const Loops& loops) {
    Normalizer normalizer(loops.queue(), kDim);
    merge(normalizer, before);
    return moments_of(normalizer, obs);
  });
}

TEST_F(NormalizerTest, MergingUnequalPartsGivesTheMomentsOfAll) {
  const std::vector<float> obs = observations(random, 1000);
  Normalizer normalizer(*queue, kDim);
  size_t begin = 0;
  for (size_t rows : {1, 9, 490, 500}) {
    merge(normalizer, std::span(obs).subspan(begin * kDim, rows * kDim));
    begin += rows;
  }
  expect_moments_of_all(normalizer, obs);
}

// The moments of all ranks are about the same mean, so they can be added.
TEST_F(NormalizerTest, MomentsOfRanksCanBeAdded) {
  const std::vector<float> before = observations(random, 50), obs = observations(random, 300);
  Normalizer whole(*queue, kDim), halves(*queue, kDim);
  merge(whole, before);
  merge(halves, before);
  const std::vector<double> right = moments_of(halves, std::span(obs).subspan(100 * kDim));
  std::vector<double> sum = moments_of(halves, std::span(obs).first(100 * kDim));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  halves.merge(sum);
  merge(whole, obs);
  const State a(whole), b(halves);
  for (size_t i = 0; i < a.numbers.size(); ++i)
    EXPECT_NEAR(a.numbers[i], b.numbers[i], 1e-12 * std::abs(a.numbers[i]) + 1e-15);
  std::vector<float> all = before;
  all.insert(all.end(), obs.begin(), obs.end());
  expect_moments_of_all(halves, all);
}

TEST_F(NormalizerTest, NormalisedDataHaveMeanZeroAndVarianceOne) {
  const std::vector<float> obs = observations(random, 4000);
  Normalizer normalizer(*queue, kDim, {.eps = 1e-6});
  merge(normalizer, obs);
  const std::vector<float> y = normalized(normalizer.view(), obs);
  for (int k = 0; k < 2; ++k) {  // the third dimension's spread is close to the rounding of float
    double sum = 0, squares = 0;
    for (int i = 0; i < 4000; ++i) sum += y[i * kDim + k], squares += double{y[i * kDim + k]} * y[i * kDim + k];
    EXPECT_NEAR(sum / 4000, 0, 1e-4);
    EXPECT_NEAR(squares / 4000, 1, 1e-4);
  }
}

TEST_F(NormalizerTest, ConstantObservationsStayFinite) {
  Normalizer normalizer(*queue, 1);
  const std::vector<float> obs = {7, 7, 7, 7};
  merge(normalizer, obs);
  EXPECT_EQ(normalized(normalizer.view(), obs, 1), std::vector<float>(4));
}

TEST_F(NormalizerTest, GathersTheIndexedRows) {
  const std::vector<float> obs = observations(random, 10);
  Normalizer normalizer(*queue, kDim);
  merge(normalizer, obs);
  const int32_t rows[] = {9, 0, 4};
  const std::vector<float> all = normalized(normalizer.view(), obs),
                           some = normalized(normalizer.view(), obs, kDim, rows);
  for (int i = 0; i < 3 * kDim; ++i) EXPECT_EQ(some[i], all[rows[i / kDim] * kDim + i % kDim]);
}

// After refresh(), a view that was taken before loading shows the loaded state, and the host's copy equals it.
TEST_F(NormalizerTest, RefreshAppliesALoadedState) {
  Normalizer from(*queue, kDim), to(*queue, kDim);
  const NormalizerView view = to.view();
  merge(from, observations(random, 100));
  const State source(from), target(to);
  for (size_t i = 0; i < source.fields.size(); ++i) target.fields[i].write(source.fields[i].read());
  to.refresh();
  for (int k = 0; k < kDim; ++k) {
    EXPECT_EQ(view.mean[k], from.view().mean[k]);
    EXPECT_EQ(view.inv_std[k], from.view().inv_std[k]);
    EXPECT_EQ(to.host_view().mean[k], view.mean[k]);
    EXPECT_EQ(to.host_view().inv_std[k], view.inv_std[k]);
  }
}

}  // namespace
}  // namespace drl
