// Each case in a process of its own, whose exit code tells what it saw.
#include "run/stop.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "placement/mpirun.hpp"

namespace drl {
namespace {

// The exit code after these signals.
[[noreturn]] void exit_after(const std::vector<int>& signals) {
  catch_stop_signals();
  for (int signal : signals) std::raise(signal);
  std::exit(requested_stop() == Stop::none ? 0 : exit_code_of(requested_stop()));
}

void expect_code(const std::vector<int>& signals, int code) {
  EXPECT_EXIT(exit_after(signals), testing::ExitedWithCode(code), "");
}

TEST(StopSignals, AreRequests) {
  expect_code({}, 0);
  expect_code({SIGUSR1}, 75);
  expect_code({SIGINT}, 130);
  expect_code({SIGTERM}, 143);
}

// In the order of precedence.
TEST(Stop, ExitCodesAndNames) {
  EXPECT_LT(Stop::time_limit, Stop::to_be_continued);
  EXPECT_EQ(exit_code_of(Stop::time_limit), 75);
  EXPECT_STREQ(name_of(Stop::time_limit), "the job's time limit");
  EXPECT_STREQ(name_of(Stop::terminated), "SIGTERM");
}

TEST(StopSignals, HaveStandInsThatMpirunPassesOn) {
  expect_code({SIGUSR2}, 130);
  expect_code({signal_for_ranks(SIGINT)}, 130);  // another one for MPICH
  expect_code({SIGALRM}, 143);
}

TEST(StopSignals, TheStrongestCounts) {
  expect_code({SIGUSR1, SIGINT}, 130);
  expect_code({SIGINT, SIGUSR1}, 130);
  expect_code({SIGINT, SIGTERM}, 143);
  expect_code({SIGTERM, SIGINT}, 143);
}

[[noreturn]] void interrupt_twice() {
  catch_stop_signals();
  std::raise(SIGINT);
  std::raise(SIGINT);
  std::exit(1);  // not reached
}

TEST(StopSignals, TheSecondInterruptEndsAtOnce) { EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), ""); }

}  // namespace
}  // namespace drl
