#include "launch/child.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace drl {
namespace {

ChildSettings settings() {
  ChildSettings result{.environment = environment_list()};
  sigprocmask(SIG_SETMASK, nullptr, &result.signal_mask);
  return result;
}

int shielded(
    const std::string& script, const std::function<int()>& pending_signal = [] { return 0; }) {
  return run_shielded({"sh", "-c", script}, settings(), pending_signal);
}

TEST(Child, ReturnsTheExitCodeOfTheCommand) {
  EXPECT_EQ(shielded("exit 0"), 0);
  EXPECT_EQ(shielded("exit 75"), 75);
  EXPECT_EQ(shielded("kill -9 $$"), 137);
  EXPECT_EQ(run_shielded({"no_such_program_anywhere"}, settings(), [] { return 0; }), kNotFound);
}

TEST(Child, HasTheGivenEnvironment) {
  ChildSettings own = settings();
  own.environment = {"PATH=/usr/bin:/bin", "ANSWER=42"};
  EXPECT_EQ(run_shielded({"sh", "-c", "exit $ANSWER"}, own, [] { return 0; }), 42);
}

TEST(Child, PendingSignalsAreForwarded) {
  char file[] = "/tmp/drl-child-test.XXXXXX";
  close(mkstemp(file));
  // Until the shell has set its trap, the signal would kill it.
  const auto traps = [&] { return std::ifstream(file).peek() != EOF; };
  EXPECT_EQ(shielded(std::string("trap 'exit 7' USR1; echo up > ") + file + "; while :; do sleep 0.05; done",
                     [&] { return traps() ? SIGUSR1 : 0; }),
            7);
  unlink(file);
}

// Slurm identifies the processes of a task by its process tree or its process group; the command must be in neither.
TEST(Child, IsNeitherADescendantNorInOurProcessGroup) {
  const std::string own_group = std::to_string(getpgrp()), own_pid = std::to_string(getpid());
  EXPECT_EQ(shielded("read pid name state parent group rest < /proc/$$/stat; [ $group != " + own_group +
                     " ] || exit 1; "
                     "while [ $parent -gt 1 ]; do [ $parent != " +
                     own_pid +
                     " ] || exit 2; "
                     "read pid name state parent rest < /proc/$parent/stat; done; exit 9"),
            9);
}

TEST(Child, EndsWhenOurProcessIsKilled) {
  char file[] = "/tmp/drl-child-test.XXXXXX";
  close(mkstemp(file));
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0)
    _exit(shielded(std::string("trap 'echo ended > ") + file + "; exit' TERM; echo up > " + file +
                   "; while :; do sleep 0.05; done"));
  const auto holds = [&](const char* word) {
    for (int tenths = 0; tenths < 300; ++tenths, std::this_thread::sleep_for(std::chrono::milliseconds(100)))
      if (std::system((std::string("grep -q ") + word + " " + file).c_str()) == 0) return true;
    return false;
  };
  EXPECT_TRUE(holds("up"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(holds("ended"));
  unlink(file);
}

// A shell between us and two copies of this program stands for mpirun. The copies wait for a writer of the pipe.
TEST(SameProgram, IsSignalledBelowAnotherProgram) {
  const std::string pipe = "/tmp/drl-child-test." + std::to_string(getpid()),
                    program = "/proc/" + std::to_string(getpid()) + "/exe --gtest_flagfile=" + pipe;
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t shell = spawn({"sh", "-c", program + " & " + program + " & wait; exit 9"}, settings());
  ASSERT_GT(shell, 0);
  int signalled = 0, status = 0;
  for (int tenths = 0; tenths < 300 && signalled < 2; ++tenths) {
    signalled += signal_same_program(shell, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  unlink(pipe.c_str());
  EXPECT_EQ(signalled, 2);
  waitpid(shell, &status, 0);
  EXPECT_EQ(shell_code(status), 9);
}

TEST(IsOnPath, FindsOnlyProgramsOnPath) {
  EXPECT_TRUE(is_on_path("sh"));
  EXPECT_FALSE(is_on_path("no_such_program_anywhere"));
}

}  // namespace
}  // namespace drl
