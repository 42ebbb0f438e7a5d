#include "run/reward_window.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl {
namespace {

EpisodeSums episodes(double count, double reward, double length, double term = 0) {
  EpisodeSums sums;
  sums.count = count, sums.reward = count * reward, sums.length = count * length, sums.terms = {count * term};
  return sums;
}

TEST(RewardWindow, IsNaNWithoutEpisodes) {
  RewardWindow window(1);
  EXPECT_TRUE(std::isnan(window.mean_reward()));
  window.add(episodes(0, 0, 0));
  EXPECT_TRUE(std::isnan(window.mean_reward()));
  EXPECT_TRUE(std::isnan(window.mean_length()));
}

TEST(RewardWindow, CountsAllOfFewerThanAHundredEpisodes) {
  RewardWindow window(1);
  window.add(episodes(1, 10, 100, 1));
  window.add(episodes(3, 2, 20, 5));
  EXPECT_DOUBLE_EQ(window.mean_reward(), 4);  // (10 + 3 * 2) / 4
  EXPECT_DOUBLE_EQ(window.mean_length(), 40);
  EXPECT_DOUBLE_EQ(window.mean_term(0), 4);
}

// Of iterations with 40, 50 and 60 episodes, the latest two hold 110, so the first one does not count.
TEST(RewardWindow, CoversTheFewestIterationsWithAHundredEpisodes) {
  RewardWindow window(1);
  window.add(episodes(40, 1000, 1));
  window.add(episodes(50, 2, 1));
  window.add(episodes(60, 13, 1));
  EXPECT_DOUBLE_EQ(window.mean_reward(), (50 * 2 + 60 * 13) / 110.0);
  window.add(episodes(0, 0, 0));  // an iteration without episodes changes nothing
  EXPECT_DOUBLE_EQ(window.mean_reward(), (50 * 2 + 60 * 13) / 110.0);
  window.add(episodes(100, 7, 1));  // exactly a hundred are enough
  EXPECT_DOUBLE_EQ(window.mean_reward(), 7);
}

TEST(RewardWindow, CoversAHundredIterationsOfOneEpisodeEach) {
  RewardWindow window(1);
  for (int i = 0; i < 250; ++i) window.add(episodes(1, i, 1));
  EXPECT_DOUBLE_EQ(window.mean_reward(), (150 + 249) / 2.0);  // the latest hundred
}

}  // namespace
}  // namespace drl
