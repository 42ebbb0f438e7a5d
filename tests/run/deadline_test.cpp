#include "run/deadline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <vector>

#include "base/check.hpp"
#include "report/console.hpp"

namespace drl {
namespace {

// After this iteration of 10 s there must be time for another 10 s, a save of 5 s and a margin of 60 s: 85 s in all.
TEST(LongestTimes, AnotherIterationFitsIfItAndASaveAndTheMarginDo) {
  const LongestTimes longest{10, 5};
  EXPECT_TRUE(longest.another_fits(85, 60));
  EXPECT_FALSE(longest.another_fits(84.9, 60));
  EXPECT_TRUE(longest.another_fits(25, 0));
  EXPECT_FALSE(longest.another_fits(24.9, 0));
  EXPECT_TRUE(longest.another_fits(INFINITY, 60));
}

// Nothing has been measured before the first iteration.
TEST(LongestTimes, AtFirstOnlyTheMarginCounts) {
  EXPECT_TRUE(LongestTimes{}.another_fits(60, 60));
  EXPECT_FALSE(LongestTimes{}.another_fits(59, 60));
}

// A tenth of the limit, and a minute at most.
TEST(Margin, IsAShareOfTheLimit) {
  EXPECT_EQ(default_margin(60), 6);
  EXPECT_EQ(default_margin(600), 60);
  EXPECT_EQ(default_margin(4 * 3600), 60);
  EXPECT_EQ(default_margin(INFINITY), 60);
}

// The tasks of an array in ten minutes: in each of them about ten, where slurmctld's 30 at
// once and two a second would let 150 through.
TEST(Question, OfJobsThatEndTogetherComesAtDifferentTimes) {
  std::vector<int> in_minute(10);
  for (int task = 0; task < 100; ++task)
    ++in_minute.at(static_cast<size_t>(question_lead("1230_" + std::to_string(task), 4 * 3600) / 60));
  for (int count : in_minute) EXPECT_LE(count, 25);
  EXPECT_LT(question_lead("1230_4", 60), 6);
  EXPECT_GE(question_lead("1230_4", 60), 0);
}

Allocation ends_in(int64_t seconds, std::optional<int64_t> limit = std::nullopt) {
  Allocation job;
  job.job = "7";
  job.end_time = std::time(nullptr) + seconds;
  if (limit) job.start_time = *job.end_time - *limit;
  return job;
}

TEST(Deadline, ComesFromTheJobsEndTime) {
  Deadline deadline(ends_in(1000), 60);
  EXPECT_NEAR(deadline.time_left().value(), 1000, 30);
  EXPECT_FALSE(deadline.reached());
}

TEST(Deadline, IsNeverNegative) {
  Deadline deadline(ends_in(-50), 0);
  EXPECT_EQ(deadline.time_left(), 0);
}

// There is no job 7 (or no squeue at all): what the variables said counts.
TEST(Deadline, IsReachedWithinTheMargin) {
  Deadline deadline(ends_in(50), 60);
  EXPECT_TRUE(deadline.reached());
  EXPECT_TRUE(deadline.reason().starts_with("job 7 ends in 0:00:")) << deadline.reason();
  EXPECT_NE(deadline.reason().find("; --time_margin 60"), std::string::npos) << deadline.reason();
}

TEST(Deadline, MarginFollowsTheLimitOrTheTimeLeftAtFirst) {
  Deadline of_a_minute(ends_in(4, 60), std::nullopt);
  EXPECT_TRUE(of_a_minute.reached());
  EXPECT_NE(of_a_minute.reason().find("; --time_margin 6.00 s"), std::string::npos) << of_a_minute.reason();
  Deadline limit_unknown(ends_in(60), std::nullopt);
  EXPECT_FALSE(limit_unknown.reached());  // 60 s are left, and 6 s are enough
}

// Of 60 s 55 are left, and 58 shall be: so it will be in each start. Of ten minutes the same 55 s are an end like
// others.
TEST(Deadline, IsRefusedWhereNoStartHasTimeForAnIteration) {
  try {
    Deadline(ends_in(55, 60), 58).require_time();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("job 7 has no time for an iteration (of its limit of 0:01:00, "))
        << error.what();
  }
  Deadline(ends_in(55, 600), 58).require_time();
  Deadline(ends_in(55, 60), std::nullopt).require_time();
  Deadline(ends_in(55), 58).require_time();  // the limit is not known
}

// 200 s are left. A save that took 150 s leaves no time for another with a margin of 60 s.
TEST(Deadline, CountsTheLongestSave) {
  Deadline deadline(ends_in(200), 60);
  EXPECT_FALSE(deadline.reached());
  deadline.saved(deadline.now() - 150);
  deadline.saved(deadline.now());
  EXPECT_TRUE(deadline.reached());
  EXPECT_NE(deadline.reason().find("the longest save 150"), std::string::npos) << deadline.reason();
}

// As scontrol suspend does it: SIGSTOP, and SIGCONT four seconds later.
TEST(RunningClock, StandsStillWhileTheProcessDoes) {
  RunningClock clock;
  const double before = clock.seconds(), steady_before = steady_seconds();
  BackgroundCommand suspend({"sh", "-c", "kill -STOP $PPID; sleep 4; kill -CONT $PPID"});
  EXPECT_EQ(suspend.wait(60), 0);
  const double ran = clock.seconds() - before, passed = steady_seconds() - steady_before;
  EXPECT_GE(passed, 4);
  EXPECT_LE(ran, passed - 3.5);
  EXPECT_GE(ran, 0);
}

TEST(RunningClock, RunsAsTimeDoes) {
  RunningClock clock;
  const double before = clock.seconds(), steady_before = steady_seconds();
  BackgroundCommand wait({"sleep", "0.6"});
  EXPECT_EQ(wait.wait(60), 0);
  EXPECT_NEAR(clock.seconds() - before, steady_seconds() - steady_before, 0.01);
}

}  // namespace
}  // namespace drl
