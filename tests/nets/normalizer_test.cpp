#include "nets/normalizer.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kDim = 3;

// Observations around (100, 0, -5), of spread 1, 10, 0.001.
std::vector<float> observations(Random& random, int64_t rows) {
  const double center[] = {100, 0, -5}, spread[] = {1, 10, 0.001};
  std::vector<float> obs;
  for (int64_t i = 0; i < rows * kDim; ++i)
    obs.push_back(static_cast<float>(center[i % kDim] + spread[i % kDim] * uniform(random, -1, 1)));
  return obs;
}

std::vector<double> moments_of(const Normalizer& normalizer, std::span<const float> obs) {
  std::vector<double> out(normalizer.moments_size());
  normalizer.moments(obs.data(), static_cast<int64_t>(obs.size()) / kDim, out);
  return out;
}

void merge(Normalizer& normalizer, std::span<const float> obs) { normalizer.merge(moments_of(normalizer, obs)); }

// Count, mean, variance, as a checkpoint would hold them.
struct State final : StateVisitor {
  explicit State(Normalizer& normalizer) { normalizer.visit_state(*this, "n"); }
  void field(const StateField& f) override {
    numbers.insert(numbers.end(), static_cast<double*>(f.data), static_cast<double*>(f.data) + f.count());
    names.push_back(f.name);
  }
  std::vector<double> numbers;
  std::vector<std::string> names;
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

TEST(Normalizer, ByHand) {
  Normalizer normalizer(1);
  const float first[] = {1, 3}, second[] = {8};
  std::vector<double> moments(3);
  normalizer.moments(first, 2, moments);
  EXPECT_EQ(moments, (std::vector<double>{2, 4, 10}));  // n, sum, sum of squares about the mean 0
  normalizer.merge(moments);
  normalizer.moments(second, 1, moments);
  EXPECT_EQ(moments, (std::vector<double>{1, 6, 36}));  // about the mean 2
  normalizer.merge(moments);
  EXPECT_EQ(State(normalizer).numbers[1], 4);
  EXPECT_NEAR(State(normalizer).numbers[2], 26.0 / 3, 1e-14);  // (9 + 1 + 16) / 3
  float y = 0;
  normalize_rows(normalizer.view(), second, 1, 1, &y);
  EXPECT_NEAR(y, 4 / std::sqrt(26.0 / 3), 1e-6);
}

TEST(Normalizer, IsTheIdentityBeforeTheFirstMerge) {
  const float obs[] = {1e-3f, -7, 1e9f};
  float out[3] = {};
  normalize_rows(Normalizer(3).view(), obs, 1, 3, out);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(out[k], obs[k]);
}

TEST(Normalizer, OffIsTheIdentityAndTakesNoRoom) {
  Normalizer off;
  EXPECT_EQ(off.moments_size(), 0u);
  EXPECT_EQ(off.view().mean, nullptr);
  off.merge({});
  EXPECT_TRUE(State(off).names.empty());
  const float obs[] = {5, 6};
  float out[2] = {};
  normalize_rows(off.view(), obs, 1, 2, out);
  EXPECT_EQ(out[1], 6);
}

TEST(Normalizer, MergesInUnequalPartsGiveTheMomentsOfAll) {
  Random random(5);
  const std::vector<float> obs = observations(random, 1000);
  Normalizer normalizer(kDim);
  size_t begin = 0;
  for (size_t rows : {1, 9, 490, 500}) {
    merge(normalizer, std::span(obs).subspan(begin * kDim, rows * kDim));
    begin += rows;
  }
  expect_moments_of_all(normalizer, obs);
}

// Each rank's moments are about the same mean, and so may be added.
TEST(Normalizer, MomentsOfRanksAdd) {
  Random random(6);
  const std::vector<float> before = observations(random, 50), obs = observations(random, 300);
  Normalizer whole(kDim), halves(kDim);
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

TEST(Normalizer, NormalisedDataHaveMeanZeroAndVarianceOne) {
  Random random(8);
  const std::vector<float> obs = observations(random, 4000);
  Normalizer normalizer(kDim);
  merge(normalizer, obs);
  std::vector<float> y(obs.size());
  normalize_rows(normalizer.view(), obs.data(), 4000, kDim, y.data());
  for (int k = 0; k < 2; ++k) {  // the third dimension's spread is near the floor of the variance and float's rounding
    double sum = 0, squares = 0;
    for (int i = 0; i < 4000; ++i) sum += y[i * kDim + k], squares += double{y[i * kDim + k]} * y[i * kDim + k];
    EXPECT_NEAR(sum / 4000, 0, 1e-4);
    EXPECT_NEAR(squares / 4000, 1, 1e-4);
  }
}

TEST(Normalizer, ConstantObservationsStayFinite) {
  Normalizer normalizer(1);
  const float obs[] = {7, 7, 7, 7};
  std::vector<double> moments(3);
  normalizer.moments(obs, 4, moments);
  normalizer.merge(moments);
  float y = 1;
  normalize_rows(normalizer.view(), obs, 1, 1, &y);
  EXPECT_EQ(y, 0);
}

TEST(Normalizer, GathersTheRowsThatAreNamed) {
  Random random(9);
  const std::vector<float> obs = observations(random, 10);
  Normalizer normalizer(kDim);
  merge(normalizer, obs);
  std::vector<float> all(obs.size()), some(3 * kDim);
  normalize_rows(normalizer.view(), obs.data(), 10, kDim, all.data());
  const int32_t rows[] = {9, 0, 4};
  gather_normalized(normalizer.view(), obs.data(), rows, kDim, some.data());
  for (int i = 0; i < 3 * kDim; ++i) EXPECT_EQ(some[i], all[rows[i / kDim] * kDim + i % kDim]);
}

// A view that was taken before a load follows it after refresh().
TEST(Normalizer, RefreshFollowsALoadedState) {
  Random random(10);
  Normalizer from(kDim), to(kDim);
  merge(from, observations(random, 100));
  struct Copy final : StateVisitor {
    void field(const StateField& f) override { fields.push_back(f); }
    std::vector<StateField> fields;
  } source, target;
  from.visit_state(source, "n");
  to.visit_state(target, "n");
  for (size_t i = 0; i < source.fields.size(); ++i)
    std::memcpy(target.fields[i].data, source.fields[i].data, source.fields[i].bytes());
  to.refresh();
  for (int k = 0; k < kDim; ++k) {
    EXPECT_EQ(to.view().mean[k], from.view().mean[k]);
    EXPECT_EQ(to.view().inv_std[k], from.view().inv_std[k]);
  }
}

}  // namespace
}  // namespace drl
