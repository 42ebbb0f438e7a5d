// What does not end by itself is ended.
#include "doctor/watchdog.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "comm/patience.hpp"

namespace drl {
namespace {

using std::chrono::seconds;

// Tests that end the process do so in a process of their own.
class WatchdogDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, ActsInTheirOrderAndThenEnds) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.expect({{0.01, [] { std::fputs("first ", stderr); }}, {0.02, [] { std::fputs("last", stderr); }}});
        std::this_thread::sleep_for(seconds(60));
      },
      testing::ExitedWithCode(1), "^first last$");
}

TEST_F(WatchdogDeathTest, ALaterStepHasItsOwnTime) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.expect({{3600, [] {}}});
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it waits for that by now
        watchdog.expect({{0.01, [] { std::fputs("second", stderr); }}});
        std::this_thread::sleep_for(seconds(60));
      },
      testing::ExitedWithCode(1), "^second$");
}

TEST(Watchdog, ALaterStepCallsOffTheOneBefore) {
  std::atomic<int> acts = 0;
  Watchdog watchdog;
  watchdog.expect({{0.1, [&] { acts += 1; }}, {3600, [] {}}});
  watchdog.expect({{3600, [&] { acts += 1; }}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(acts, 0);
  watchdog.rest();
}

TEST(Watchdog, ThatRestsLetsGo) {
  Watchdog watchdog;
  watchdog.expect({{0.05, [] {}}});
  watchdog.rest();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

TEST(DoneWithin, LeavesBehindWhatLasts) {
  EXPECT_TRUE(done_within(60, [] {}));
  EXPECT_FALSE(done_within(0.05, [] { std::this_thread::sleep_for(seconds(3600)); }));
}

}  // namespace
}  // namespace drl
