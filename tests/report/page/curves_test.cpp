#include "report/page/curves.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runs.hpp"

namespace drl {
namespace {

using test::record_of;

const double kNan = std::nan("");

RunGroup group_of(const std::vector<RunRecord>& runs) {
  RunGroup group{"Cart", "", {}};
  for (const RunRecord& run : runs) group.runs.push_back(&run);
  return group;
}

// Seven iterations become three points: 1 2 3 | 4 5 6 | 7.
TEST(Curves, OfOneRunHaveMeanAndRangeOfTheRowsInEachPoint) {
  const std::vector<RunRecord> runs = {record_of({1, 2, 6, 0, kNan, 5, 9})};
  const RunGroup group = group_of(runs);
  const Buckets buckets = buckets_of(group, 3);
  EXPECT_EQ(buckets.first, 1);
  EXPECT_EQ(buckets.width, 3);
  EXPECT_EQ(buckets.count, 3u);
  const Curve curve = curve_of(group, "mean_reward", buckets);
  EXPECT_EQ(curve.mean, (std::vector<double>{3, 2.5, 9}));
  EXPECT_EQ(curve.low, (std::vector<double>{1, 0, 9}));
  EXPECT_EQ(curve.high, (std::vector<double>{6, 5, 9}));
  EXPECT_TRUE(curve.has_range());
  EXPECT_EQ(positions(group, Axis::env_steps, buckets), (std::vector<double>{300, 600, 700}));
  EXPECT_EQ(positions(group, Axis::iteration, buckets), (std::vector<double>{3, 6, 7}));
  EXPECT_TRUE(positions(group, Axis::seconds, buckets).empty());
}

TEST(Curves, OfSeveralRunsHaveMeanAndRangeOfTheirMeans) {
  const std::vector<RunRecord> runs = {record_of({1, 3, 5, 7}), record_of({0, 2, 0, 0}), record_of({8, 8, 9, 9})};
  const RunGroup group = group_of(runs);
  const Curve curve = curve_of(group, "mean_reward", buckets_of(group, 2));
  EXPECT_EQ(curve.mean, (std::vector<double>{11.0 / 3, 5}));  // (2 + 1 + 8) / 3; (6 + 0 + 9) / 3
  EXPECT_EQ(curve.low, (std::vector<double>{1, 0}));
  EXPECT_EQ(curve.high, (std::vector<double>{8, 9}));
}

TEST(Curves, OfSeveralRunsEndWithTheShortest) {
  const std::vector<RunRecord> runs = {record_of({1, 3, 5, 7}), record_of({3, 5})};
  const RunGroup group = group_of(runs);
  const Curve curve = curve_of(group, "mean_reward", buckets_of(group, 4));
  EXPECT_EQ(curve.mean[0], 2);
  EXPECT_EQ(curve.mean[1], 4);
  EXPECT_TRUE(std::isnan(curve.mean[2]) && std::isnan(curve.mean[3]));
}

TEST(Curves, AreNotThinnedIfTheyHaveFewPoints) {
  const std::vector<RunRecord> runs = {record_of({1, kNan, INFINITY, 4})};
  const RunGroup group = group_of(runs);
  const Buckets buckets = buckets_of(group, 4);
  EXPECT_EQ(buckets.width, 1);
  const Curve curve = curve_of(group, "mean_reward", buckets);
  EXPECT_EQ(curve.mean[0], 1);
  EXPECT_TRUE(std::isnan(curve.mean[1]) && std::isnan(curve.mean[2]) && std::isnan(curve.low[2]));
  EXPECT_EQ(curve.mean[3], 4);
  EXPECT_FALSE(curve.has_range());
  EXPECT_TRUE(curve_of(group, "kl", buckets).empty());
}

// One run takes 10 s per iteration and ends after two; the other takes 1 s and continues from their mean time.
TEST(Curves, ContinueAfterASlowRunHasEnded) {
  std::vector<RunRecord> runs = {record_of({1, 1}), record_of({1, 1, 1, 1})};
  for (RunRecord& run : runs) run.metrics.columns.emplace_back("elapsed_time");
  runs[0].metrics.values.push_back({10, 20});
  runs[1].metrics.values.push_back({1, 2, 3, 4});
  const RunGroup group = group_of(runs);
  EXPECT_EQ(positions(group, Axis::seconds, buckets_of(group, 10)), (std::vector<double>{5.5, 11, 12, 13}));
}

// A run that was resumed in another directory may begin with a late iteration.
TEST(Curves, MayBeginLate) {
  std::vector<RunRecord> runs = {record_of({1, 2})};
  runs[0].metrics.iterations = {1000000000000, 1000000000900};
  const RunGroup group = group_of(runs);
  const Buckets buckets = buckets_of(group, 10);
  EXPECT_EQ(buckets.width, 91);  // 901 iterations
  EXPECT_EQ(buckets.count, 10u);
  const Curve curve = curve_of(group, "mean_reward", buckets);
  EXPECT_EQ(curve.mean.front(), 1);
  EXPECT_EQ(curve.mean.back(), 2);
}

TEST(Curves, OfARunWithoutRowsAreEmpty) {
  const std::vector<RunRecord> runs = {record_of({})};
  const RunGroup group = group_of(runs);
  EXPECT_EQ(buckets_of(group, 10).count, 0u);
  EXPECT_TRUE(curve_of(group, "mean_reward", buckets_of(group, 10)).empty());
  EXPECT_TRUE(std::isnan(mean_of(group, "mean_reward")));
}

TEST(Curves, StatisticsIgnoreNans) {
  const Statistics statistics = statistics_of({4, kNan, 1, 1});
  EXPECT_EQ(statistics.mean(), 2);
  EXPECT_EQ(statistics.low, 1);
  EXPECT_EQ(statistics.high, 4);
  EXPECT_EQ(statistics.count, 3);
  EXPECT_TRUE(std::isnan(statistics_of({kNan}).mean()));
}

}  // namespace
}  // namespace drl
