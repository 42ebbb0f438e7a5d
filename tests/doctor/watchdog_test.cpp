// Tests of the watchdog that ends a hanging program.
#include "doctor/watchdog.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "comm/patience.hpp"

namespace drl {
namespace {

using std::chrono::seconds;

// These tests end the process, so each runs in its own process.
class WatchdogDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, RunsItsActionsInOrderAndEndsTheProcess) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.arm({{0.01, [] { std::fputs("first ", stderr); }}, {0.02, [] { std::fputs("last", stderr); }}});
        std::this_thread::sleep_for(seconds(60));
      },
      testing::ExitedWithCode(1), "^first last$");
}

TEST_F(WatchdogDeathTest, ALaterStepHasItsOwnDeadlines) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.arm({{3600, [] {}}});
        std::this_thread::sleep_for(
            std::chrono::milliseconds(100));  // the watchdog's thread waits for that deadline now
        watchdog.arm({{0.01, [] { std::fputs("second", stderr); }}});
        std::this_thread::sleep_for(seconds(60));
      },
      testing::ExitedWithCode(1), "^second$");
}

TEST(Watchdog, ALaterStepCancelsThePreviousOne) {
  std::atomic<int> actions = 0;
  Watchdog watchdog;
  watchdog.arm({{0.1, [&] { actions += 1; }}, {3600, [] {}}});
  watchdog.arm({{3600, [&] { actions += 1; }}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(actions, 0);
  watchdog.disarm();
}

TEST(Watchdog, DisarmCancelsTheDeadlines) {
  Watchdog watchdog;
  watchdog.arm({{0.05, [] {}}});
  watchdog.disarm();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

TEST(DoneWithin, ReturnsFalseForWorkThatLastsLonger) {
  EXPECT_TRUE(done_within(60, [] {}));
  EXPECT_FALSE(done_within(0.05, [] { std::this_thread::sleep_for(seconds(3600)); }));
}

}  // namespace
}  // namespace drl
