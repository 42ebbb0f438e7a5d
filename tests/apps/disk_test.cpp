// Fills the disk while a run saves.
#include <csignal>

#include "../support/small_disk.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

const Words kFewFiles = "--keep_checkpoints 1 --logger none"_words;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk.is_mounted()) GTEST_SKIP() << "only root can mount a small disk";
  }
  Words command(int iterations) const { return runs.command(kEndless + kFewFiles + iterations_of(iterations)); }
  fs::path run() const { return runs.run("r"); }
  int newest() const { return newest_checkpoint(run()); }
  void expect_whole_checkpoints() const {
    for (int iteration : checkpoints(run()))
      EXPECT_EQ(run_program({kCheckpointProgram, "verify", checkpoint_file(run(), iteration)}).exit_code, 0)
          << iteration;
  }
  static bool warned(const Process& process) { return process.err().find("NOT SAVED") != std::string::npos; }

  const Runs runs;
  const SmallDisk disk{runs.path()};
};

TEST_F(FullDisk, IsAWarningDuringARun) {
  EndlessRun process(runs, kFewFiles);
  disk.fill();
  ASSERT_TRUE(wait_until([&] { return warned(process); })) << process.err();
  const int before = newest();
  disk.free();
  ASSERT_TRUE(wait_until([&] { return newest() > before; })) << process.err();
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
  expect_mentions(process.err(), {"warning: ", "No space left on device"});
  expect_rows_up_to_checkpoint(run());
}

TEST_F(FullDisk, IsAFailureAtTheEndAndTheRunCanBeResumed) {
  {
    EndlessRun process(runs, kFewFiles);
    disk.fill();
    ASSERT_TRUE(wait_until([&] { return warned(process); })) << process.err();
    process.signal(SIGUSR1);
    EXPECT_EQ(process.wait().exit_code, 1) << process.err();
  }
  const int saved = newest();
  ASSERT_GT(saved, 0);
  expect_whole_checkpoints();
  disk.free();
  expect_exit(run_program(command(saved + 5)), 0);
  EXPECT_EQ(iterations(run()), count_to(saved + 5));
}

}  // namespace
}  // namespace drl::test
