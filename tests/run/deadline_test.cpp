#include "run/deadline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <vector>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "report/console.hpp"

namespace drl {
namespace {

// This iteration takes 10 s, the next one 10 s, a save 5 s and the margin 60 s: 85 s in total.
TEST(LongestTimes, CountTwoIterationsASaveAndTheMargin) {
  const LongestTimes longest{10, 5};
  EXPECT_TRUE(longest.another_iteration_fits(85, 60));
  EXPECT_FALSE(longest.another_iteration_fits(84.9, 60));
  EXPECT_TRUE(longest.another_iteration_fits(25, 0));
  EXPECT_FALSE(longest.another_iteration_fits(24.9, 0));
  EXPECT_TRUE(longest.another_iteration_fits(INFINITY, 60));
}

// Before the first iteration, no time has been measured.
TEST(LongestTimes, InitiallyCountOnlyTheMargin) {
  EXPECT_TRUE(LongestTimes{}.another_iteration_fits(60, 60));
  EXPECT_FALSE(LongestTimes{}.another_iteration_fits(59, 60));
}

TEST(DefaultMargin, IsATenthOfTheLimitAndAtMostAMinute) {
  EXPECT_EQ(default_margin(60), 6);
  EXPECT_EQ(default_margin(600), 60);
  EXPECT_EQ(default_margin(4 * 3600), 60);
  EXPECT_EQ(default_margin(INFINITY), 60);
}

// The 100 tasks of a job array spread their queries over ten minutes, about ten per minute. slurmctld would allow 30 at
// once and two per second, 150 in a minute.
TEST(QueryLead, SpreadsTheQueriesOfJobsThatEndTogether) {
  std::vector<int> in_minute(10);
  for (int task = 0; task < 100; ++task)
    ++in_minute.at(static_cast<size_t>(query_lead("1230_" + std::to_string(task), 4 * 3600) / 60));
  for (int count : in_minute) EXPECT_LE(count, 25);
  EXPECT_LT(query_lead("1230_4", 60), 6);
  EXPECT_GE(query_lead("1230_4", 60), 0);
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

// Job 7 does not exist, so the end comes from the job's variables, not from squeue.
TEST(Deadline, IsReachedWithinTheMargin) {
  Deadline deadline(ends_in(50), 60);
  EXPECT_TRUE(deadline.reached());
  expect_mentions(deadline.reason(), {"job 7", "0:00:", "--time_margin 60"});
}

TEST(Deadline, MarginDependsOnTheLimitOrOnTheFirstTimeLeft) {
  Deadline of_a_minute(ends_in(4, 60), std::nullopt);
  EXPECT_TRUE(of_a_minute.reached());
  expect_mentions(of_a_minute.reason(), {"--time_margin 6.00 s"});
  Deadline limit_unknown(ends_in(60), std::nullopt);
  EXPECT_FALSE(limit_unknown.reached());  // 60 s are left, and 6 s are enough
}

// 55 s of a limit of 60 s are left, and the margin is 58 s: no start of the job would have time. With a limit of ten
// minutes, a start with 55 s left simply comes late.
TEST(Deadline, RefusesAJobInWhichNoStartHasTimeForAnIteration) {
  expect_mentions(error_from<UsageError>([] { Deadline(ends_in(55, 60), 58).require_time(); }),
                  {"job 7", "0:01:00", "0:00:5", "58", "--time_margin"});
  Deadline(ends_in(55, 600), 58).require_time();
  Deadline(ends_in(55, 60), std::nullopt).require_time();
  Deadline(ends_in(55), 58).require_time();  // the limit is unknown
}

// 200 s are left. After a save that took 150 s, another save and the margin of 60 s do not fit.
TEST(Deadline, CountsTheLongestSave) {
  Deadline deadline(ends_in(200), 60);
  EXPECT_FALSE(deadline.reached());
  deadline.saved(deadline.now() - 150);
  deadline.saved(deadline.now());
  EXPECT_TRUE(deadline.reached());
  expect_mentions(deadline.reason(), {"save 150"});
}

// Suspends the process as scontrol suspend does: SIGSTOP, and SIGCONT four seconds later.
TEST(RunningClock, StopsWhileTheProcessIsSuspended) {
  RunningClock clock;
  const double before = clock.seconds(), steady_before = steady_seconds();
  BackgroundCommand suspend({"sh", "-c", "kill -STOP $PPID; sleep 4; kill -CONT $PPID"});
  EXPECT_EQ(suspend.wait(60), 0);
  const double ran = clock.seconds() - before, passed = steady_seconds() - steady_before;
  EXPECT_GE(passed, 4);
  EXPECT_LE(ran, passed - 3.5);
  EXPECT_GE(ran, 0);
}

TEST(RunningClock, OtherwiseMeasuresTime) {
  RunningClock clock;
  const double before = clock.seconds(), steady_before = steady_seconds();
  BackgroundCommand wait({"sleep", "0.6"});
  EXPECT_EQ(wait.wait(60), 0);
  EXPECT_NEAR(clock.seconds() - before, steady_seconds() - steady_before, 0.01);
}

}  // namespace
}  // namespace drl
