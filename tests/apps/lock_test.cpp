// Tests runs on a file system without locks: every lock call of the system fails.
#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

const Process::Variables kNoLocks = {{"LD_PRELOAD", built("tests/run/libno_locks.so")}};

class NoLocks : public testing::Test {
 protected:
  Runs runs;
};

TEST_F(NoLocks, OnlyOneOfTwoSimultaneousStartsSucceeds) {
  Process first(runs.command(kEndless), kNoLocks), second(runs.command(kEndless), kNoLocks);
  ASSERT_TRUE(wait_until([&] {
    return (!first.running() || !second.running()) && newest_checkpoint(runs.run("r")) > 0;
  })) << first.err()
      << second.err();
  ASSERT_TRUE(first.running() || second.running());
  Process &winner = first.running() ? first : second, &loser = first.running() ? second : first;
  expect_error(loser.wait(), {runs.run("r").string(), "in use", "--run_name"});
  expect_mentions(winner.err() + winner.out(), {"lock file"});
  EXPECT_EQ(run_json(runs.run("r")).at("lock"), "file");
  winner.signal(SIGUSR1);
  EXPECT_EQ(winner.wait().exit_code, 75);
  expect_rows_up_to_checkpoint(runs.run("r"));
}

TEST_F(NoLocks, AKilledRunIsTakenOverAndResumed) {
  EndlessRun killed(runs, {}, kNoLocks);
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait().exit_code, 137);
  const int saved = newest_checkpoint(runs.run("r"));
  const Result next = expect_exit(runs.train(kEndless + iterations_of(saved + 3), kNoLocks), 0);
  expect_mentions(next.out + next.err, {"resuming "});
  EXPECT_EQ(iterations(runs.run("r")), count_to(saved + 3));
}

// The process is suspended while another host takes over its run.
TEST_F(NoLocks, AProcessWhoseRunWasTakenOverEndsWithoutSaving) {
  EndlessRun process(runs, {}, kNoLocks);
  process.signal(SIGSTOP);
  spill(runs.run("r") / ".lock.owner.2", "{}");
  process.signal(SIGCONT);
  expect_exit(process.wait(), 1, {"error: ", "another process", runs.run("r").string()});
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "running");
}

TEST_F(NoLocks, CheckpointsCanBeRead) {
  expect_exit(runs.train("--run_name r --max_iterations 3"_words, kNoLocks), 0);
  const std::string file = checkpoint_file(runs.run("r"), 3);
  for (const Words& command :
       {Words{kCheckpointProgram, "show", file}, Words{kCheckpointProgram, "verify", file},
        Words{kEval, "--checkpoint", file, "--episodes", "2"},
        Words{kEval, "--run", runs.run("r"), "--episodes", "2", "--record", (runs.folder / "e.h5").string()}}) {
    const Result result = expect_exit(run_program(command, kNoLocks), 0);
    EXPECT_EQ(result.err, "");
  }
}

TEST_F(NoLocks, TheDoctorReportsTheKindOfLock) {
  const Words doctor = {bin("drl_doctor"), "--runs_dir", runs.path()};
  const Result with = run_program(doctor), without = run_program(doctor, kNoLocks);
  expect_mentions(without.out, {"/runs", "lock file"});
  expect_mentions(with.out, {"/runs"});
  EXPECT_EQ(with.out.find("lock file"), std::string::npos) << with.out;
  EXPECT_TRUE(runs.folder.names().empty()) << "files were left behind";
}

}  // namespace
}  // namespace drl::test
