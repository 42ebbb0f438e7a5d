// Fills the disk while a run saves.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

// A separate small file system.
class SmallDisk {
 public:
  SmallDisk() : mounted_(::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=4m") == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return mounted_; }
  const fs::path& path() const { return folder_.path(); }
  void fill() const {
    const std::string page(4096, 'x');
    for (std::ofstream file(path() / "filler"); file << page << std::flush;) {
    }
  }
  void free() const { fs::remove(path() / "filler"); }

 private:
  TempFolder folder_;
  bool mounted_;
};

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk.is_mounted()) GTEST_SKIP() << "only root can mount a small disk";
  }
  Words command(int iterations) const {
    return {kTrain,
            "--task",
            "Cartpole",
            "--num_envs",
            "16",
            "--num_steps_per_env",
            "4",
            "--runs_dir",
            disk.path().string(),
            "--run_name",
            "r",
            "--save_interval",
            "10",
            "--keep_checkpoints",
            "1",
            "--logger",
            "none",
            "--max_iterations",
            std::to_string(iterations)};
  }
  fs::path run() const { return disk.path() / "Cartpole" / "r"; }
  int newest() const { return newest_checkpoint(run()); }
  void expect_whole_checkpoints() const {
    for (int iteration : checkpoints(run()))
      EXPECT_EQ(run_program({kCheckpointProgram, "verify", checkpoint_file(run(), iteration)}).exit_code, 0)
          << iteration;
  }
  static bool warned(const Process& process) { return process.err().find("NOT SAVED") != std::string::npos; }

  SmallDisk disk;
};

TEST_F(FullDisk, IsAWarningDuringARun) {
  Process process(command(1000000000));
  ASSERT_TRUE(wait_until([&] { return newest() > 0; })) << process.err();
  disk.fill();
  ASSERT_TRUE(wait_until([&] { return warned(process); })) << process.err();
  const int before = newest();
  disk.free();
  ASSERT_TRUE(wait_until([&] { return newest() > before; })) << process.err();
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
  expect_mentions(process.err(), {"warning: ", "No space left on device"});
  EXPECT_EQ(iterations(run()), count_to(newest()));
}

TEST_F(FullDisk, IsAFailureAtTheEndAndTheRunCanBeResumed) {
  {
    Process process(command(1000000000));
    ASSERT_TRUE(wait_until([&] { return newest() > 0; })) << process.err();
    disk.fill();
    ASSERT_TRUE(wait_until([&] { return warned(process); })) << process.err();
    process.signal(SIGUSR1);
    EXPECT_EQ(process.wait().exit_code, 1) << process.err();
  }
  const int saved = newest();
  ASSERT_GT(saved, 0);
  expect_whole_checkpoints();
  disk.free();
  EXPECT_EQ(run_program(command(saved + 5)).exit_code, 0);
  EXPECT_EQ(iterations(run()), count_to(saved + 5));
}

}  // namespace
}  // namespace drl::test
