// Runs each case in a separate process, whose exit code is the result.
#include "placement/stop.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace drl {
namespace {

// Raises the signals and exits with the exit code of the requested stop.
[[noreturn]] void exit_after(const std::vector<int>& signals) {
  catch_stop_signals();
  take_stops_as_requests();
  for (int signal : signals) std::raise(signal);
  std::exit(requested_stop() == Stop::none ? 0 : exit_code_of(requested_stop()));
}

void expect_code(const std::vector<int>& signals, int code) {
  EXPECT_EXIT(exit_after(signals), testing::ExitedWithCode(code), "");
}

TEST(StopSignals, AreRequests) {
  expect_code({}, 0);
  expect_code({SIGUSR1}, 75);
  expect_code({SIGUSR2}, 75);
  expect_code({SIGXCPU}, 75);
  expect_code({SIGINT}, 130);
  expect_code({SIGTERM}, 143);
  expect_code({SIGHUP}, 143);
}

TEST(StopSignals, MayComeAgainExceptSigint) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGXCPU}) expect_code({signal, signal, signal}, 75);
  for (const int signal : {SIGTERM, SIGHUP}) expect_code({signal, signal, signal}, 143);
}

// nohup ignores SIGHUP.
TEST(StopSignals, AnIgnoredSighupStaysIgnored) {
  EXPECT_EXIT((std::signal(SIGHUP, SIG_IGN), exit_after({SIGHUP})), testing::ExitedWithCode(0), "");
}

TEST(StopSignals, ABrokenPipeIsNoRequestAndDoesNotKill) { expect_code({SIGPIPE}, 0); }

TEST(Stop, HasAPrecedenceExitCodeAndName) {
  EXPECT_LT(Stop::time_limit, Stop::to_be_continued);
  EXPECT_EQ(exit_code_of(Stop::time_limit), 75);
  EXPECT_TRUE(std::string(name_of(Stop::time_limit)).starts_with("the job's time limit"));
  EXPECT_TRUE(std::string(name_of(Stop::terminated)).starts_with("SIGTERM"));
}

// srun only forwards SIGUSR1 and SIGUSR2.
TEST(StopSignals, PassThroughSrun) {
  EXPECT_EQ(signal_through_srun(Stop::none), 0);
  EXPECT_EQ(signal_through_srun(stop_of(SIGUSR1)), SIGUSR1);
  EXPECT_EQ(signal_through_srun(stop_of(SIGUSR2)), SIGUSR1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(signal_through_srun(stop_of(signal)), SIGUSR2);
    EXPECT_EQ(stop_of(signal, true), stop_of(signal)) << "Slurm may also signal the ranks directly";
  }
  EXPECT_EQ(stop_of(SIGUSR1, true), Stop::to_be_continued);
  EXPECT_EQ(stop_of(SIGUSR2, true), Stop::passed_on);
  EXPECT_EQ(exit_code_of(Stop::passed_on), 75) << "the process that passes the signal on knows better";
  setenv("DRL_OUTER_STEP", "", 1);
  expect_code({SIGUSR2, SIGINT}, 130);
  unsetenv("DRL_OUTER_STEP");
}

// The result is the stronger one of the ranks' exit code and the request that was passed on. Ranks exit with 138 or 140
// if SIGUSR1 (10) or SIGUSR2 (12) killed them before they had handlers.
TEST(StopSignals, KnowTheExitCodeOfRanksThatTheyStopped) {
  EXPECT_EQ(exit_code_after(75, Stop::none), 75);
  EXPECT_EQ(exit_code_after(75, Stop::terminated), 143);
  EXPECT_EQ(exit_code_after(143, Stop::to_be_continued), 143);
  EXPECT_EQ(exit_code_after(128 + SIGUSR1, Stop::to_be_continued), 75);
  EXPECT_EQ(exit_code_after(128 + SIGUSR1, Stop::time_limit), 75);
  EXPECT_EQ(exit_code_after(128 + SIGUSR2, Stop::interrupted), 130);
  EXPECT_EQ(exit_code_after(128 + SIGUSR2, Stop::terminated), 143);
  EXPECT_EQ(exit_code_after(128 + SIGUSR1, Stop::none), 128 + SIGUSR1) << "somebody else's signal";
  EXPECT_EQ(exit_code_after(128 + SIGUSR1, Stop::terminated), 128 + SIGUSR1) << "somebody else's signal";
  for (const int code : {0, 1, 2, 128 + SIGKILL}) EXPECT_EQ(exit_code_after(code, Stop::terminated), code);
}

// `ulimit -t` sets the soft limit to the hard one, at which the process is killed.
TEST(CpuTime, LeavesTimeToSave) {
  const auto soft_limit_for = [](rlim_t seconds) {
    const rlimit given{seconds, seconds};
    setrlimit(RLIMIT_CPU, &given);
    catch_stop_signals();
    rlimit now{};
    getrlimit(RLIMIT_CPU, &now);
    std::_Exit(static_cast<int>(seconds - now.rlim_cur));
  };
  EXPECT_EXIT(soft_limit_for(100000), testing::ExitedWithCode(60), "");
  EXPECT_EXIT(soft_limit_for(200), testing::ExitedWithCode(20), "");
}

TEST(StopSignals, TheStrongestWins) {
  expect_code({SIGUSR1, SIGINT}, 130);
  expect_code({SIGINT, SIGUSR1}, 130);
  expect_code({SIGINT, SIGTERM}, 143);
  expect_code({SIGTERM, SIGINT}, 143);
}

// At the start of a program there is nothing to save.
TEST(StopSignals, EndTheProcessAtOnceBeforeTheyAreRequests) {
  const auto raise_at_start = [](int signal) {
    catch_stop_signals();
    std::raise(signal);
    std::exit(1);
  };
  EXPECT_EXIT(raise_at_start(SIGINT), testing::ExitedWithCode(130), "stopped by a signal");
  EXPECT_EXIT(raise_at_start(SIGTERM), testing::ExitedWithCode(143), "stopped by a signal");
  EXPECT_EXIT(raise_at_start(SIGUSR1), testing::ExitedWithCode(1), "");
}

// The third one comes more than a second after the first.
[[noreturn]] void interrupt_thrice() {
  catch_stop_signals();
  take_stops_as_requests();
  std::raise(SIGINT);
  std::raise(SIGINT);  // the same one, which the launcher passes on
  std::fputs("still here", stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  std::raise(SIGINT);
  std::exit(1);  // not reached
}

TEST(StopSignals, ASecondInterruptLaterEndsTheProcess) {
  EXPECT_EXIT(interrupt_thrice(), testing::ExitedWithCode(130), "still here");
}

}  // namespace
}  // namespace drl
