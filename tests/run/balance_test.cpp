#include "run/balance.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "../support/mentions.hpp"
#include "run/progress_comment.hpp"

namespace drl {
namespace {

const std::vector<std::string> kHosts = {"node1", "node1", "node2", "node2"};

// The advice given during some iterations.
struct Advice {
  int iteration = 0;  // from 1; 0: none was given
  std::string text;
};
Advice advice_of(Balance& balance, int n, double seconds, const std::vector<double>& waiting) {
  Advice advice;
  for (int k = 1; k <= n; ++k)
    if (const std::string text = balance.iteration(100 + k, seconds, waiting); !text.empty()) advice = {k, text};
  return advice;
}

// In iterations of 2 s, three ranks wait 1.2 s for rank 2, which waits 0.24 s: (3 x 1.2 + 0.24) / 4 / 2 = 48 %. The
// first 10 do not count; the next 20 take more than 20 s. Rank 2 computes for 1.76 s, the others for 0.8 s.
TEST(Balance, NamesTheRankThatWaitsLeast) {
  Balance balance(kHosts);
  const Advice advice = advice_of(balance, 100, 2, {1.2, 1.2, 0.24, 1.2});
  EXPECT_EQ(advice.iteration, 30);
  expect_mentions(advice.text, {"48 %", "(rank 2 on node2", "slowest since iteration 111", "12 %", "2.2 times"});
}

// Ranks that wait for 32 and 33 % wait for no single rank.
TEST(Balance, NamesNoRankIfAllWaitAlike) {
  Balance balance(kHosts);
  const Advice advice = advice_of(balance, 100, 2, {0.64, 0.66, 0.64, 0.66});
  expect_mentions(advice.text, {"alike", "32", "33 %"});
  for (const std::string& host : kHosts) EXPECT_EQ(advice.text.find(host), std::string::npos) << advice.text;
}

// A node may become slow in the middle of a run.
TEST(Balance, AdvisesOnceForEachSlowRank) {
  Balance balance(kHosts);
  EXPECT_EQ(advice_of(balance, 30, 2, {1, 1, 0, 1}).iteration, 30);
  EXPECT_EQ(advice_of(balance, 1000, 2, {1, 1, 0, 1}).iteration, 0);
  expect_mentions(advice_of(balance, 1000, 2, {1, 0, 1, 1}).text, {"rank 1 on node1"});
  EXPECT_EQ(advice_of(balance, 1000, 2, {1, 1, 0, 1}).iteration, 0);
}

// With iterations of 10 ms, 20 s are 2000 iterations, plus the 10 skipped ones.
TEST(Balance, JudgesSpansOfManySeconds) {
  Balance balance(kHosts);
  EXPECT_EQ(advice_of(balance, 5000, 0.01, {0.005, 0.005, 0, 0.005}).iteration, 2010);
}

TEST(Balance, ToleratesThirtyPercent) {
  Balance below(kHosts), above(kHosts);
  EXPECT_EQ(advice_of(below, 1000, 2, {0.59, 0.59, 0.59, 0.59}).iteration, 0);
  EXPECT_EQ(advice_of(above, 1000, 2, {0.61, 0.61, 0.61, 0.61}).iteration, 30);
}

// The ranks wait for the whole of every 20th iteration, which is 5 % of the time.
TEST(Balance, ToleratesSingleSlowIterations) {
  Balance balance(kHosts);
  for (int k = 0; k < 500; ++k)
    EXPECT_EQ(advice_of(balance, 1, 2, std::vector<double>(4, k % 20 ? 0.0 : 2.0)).iteration, 0);
}

TEST(Balance, OneRankNeverWaits) {
  Balance balance({"node1"});
  EXPECT_EQ(advice_of(balance, 1000, 2, {2}).iteration, 0);
}

TEST(ProgressComment, IsShort) {
  IterationMetrics metrics;
  metrics.iteration = 120;
  metrics.max_iterations = 500;
  metrics.metrics = {{"mean_reward", "", "", 4.7}};
  EXPECT_EQ(progress_comment("Cartpole", metrics), "Cartpole 120/500, reward 4.7");
  metrics.metrics[0].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(progress_comment("Cartpole", metrics), "Cartpole 120/500");
}

}  // namespace
}  // namespace drl
