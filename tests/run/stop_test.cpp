// Runs each case in a separate process, whose exit code is the result.
#include "run/stop.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "placement/mpirun.hpp"

namespace drl {
namespace {

// Raises the signals and exits with the exit code of the requested stop.
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

TEST(Stop, HasAPrecedenceExitCodeAndName) {
  EXPECT_LT(Stop::time_limit, Stop::to_be_continued);
  EXPECT_EQ(exit_code_of(Stop::time_limit), 75);
  EXPECT_STREQ(name_of(Stop::time_limit), "the job's time limit");
  EXPECT_STREQ(name_of(Stop::terminated), "SIGTERM");
}

TEST(StopSignals, HaveSubstitutesThatMpirunPassesOn) {
  expect_code({SIGUSR2}, 130);
  expect_code({signal_for_ranks(SIGINT)}, 130);  // MPICH uses another signal
  expect_code({SIGALRM}, 143);
}

TEST(StopSignals, TheStrongestWins) {
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

TEST(StopSignals, TheSecondInterruptEndsTheProcess) {
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace drl
