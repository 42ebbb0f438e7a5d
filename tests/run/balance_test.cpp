#include "run/balance.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "run/progress_comment.hpp"

namespace drl {
namespace {

const std::vector<std::string> kHosts = {"node1", "node1", "node2", "node2"};

// What is said after `n` iterations of `seconds` each, and in which one (from 1; 0: never).
struct Said {
  int when = 0;
  std::string text;
};
Said after(Balance& balance, int n, double seconds, const std::vector<double>& waiting) {
  Said said;
  for (int k = 1; k <= n; ++k)
    if (const std::string text = balance.iteration(seconds, waiting); !text.empty()) said = {k, text};
  return said;
}

// Iterations of 2 s in which three ranks wait 1.2 s for rank 2, which waits 0.24 s: (3 x 1.2 + 0.24) / 4 / 2 = 48 %.
// The first 10 do not count; then 20 iterations are more than 20 s.
TEST(Balance, NamesTheRankThatWaitsLeast) {
  Balance balance(kHosts);
  const Said said = after(balance, 100, 2, {1.2, 1.2, 0.24, 1.2});
  EXPECT_EQ(said.when, 30);
  EXPECT_EQ(said.text,
            "waiting and communication take 48 % of the ranks' time (rank 2 on node2 is the slowest: it waits 12 % of "
            "an iteration, rank 0 on node1 60 %): use more environments a rank, fewer mini-batches or fewer nodes, and "
            "look what else runs on node2");
}

TEST(Balance, SaysItOnce) {
  Balance balance(kHosts);
  EXPECT_EQ(after(balance, 30, 2, {1, 1, 0, 1}).when, 30);
  EXPECT_EQ(after(balance, 1000, 2, {1, 1, 0, 1}).when, 0);
}

// Iterations of 10 ms: 20 s are 2000 of them, and the 10 skipped.
TEST(Balance, JudgesSecondsNotMoments) {
  Balance balance(kHosts);
  EXPECT_EQ(after(balance, 5000, 0.01, {0.005, 0.005, 0, 0.005}).when, 2010);
}

TEST(Balance, ThirtyPercentAreNotTooMuch) {
  Balance below(kHosts), above(kHosts);
  EXPECT_EQ(after(below, 1000, 2, {0.59, 0.59, 0.59, 0.59}).when, 0);
  EXPECT_EQ(after(above, 1000, 2, {0.61, 0.61, 0.61, 0.61}).when, 30);
}

// One of 20 iterations is all waiting: 5 % in the mean.
TEST(Balance, OneUnluckyIterationIsNone) {
  Balance balance(kHosts);
  for (int k = 0; k < 500; ++k) EXPECT_EQ(after(balance, 1, 2, std::vector<double>(4, k % 20 ? 0.0 : 2.0)).when, 0);
}

TEST(Balance, OneRankNeverWaits) {
  Balance balance({"node1"});
  EXPECT_EQ(after(balance, 1000, 2, {2}).when, 0);
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
