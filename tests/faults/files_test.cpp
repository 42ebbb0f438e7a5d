// Trains while the file system fails: the run goes on and says what failed, and its last checkpoint stays usable.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "../apps/programs.hpp"
#include "../support/small_disk.hpp"

namespace drl::test {
namespace {

double slow_seconds() {
  const char* seconds = std::getenv("DRL_SLOW_SECONDS");  // the long form waits for minutes
  return seconds ? std::atof(seconds) : 2;
}

// A run whose file system fails while a fault is set. See faulty_files.cpp.
class FaultyFiles : public testing::Test {
 protected:
  Words command(int iterations) const { return runs_.command(kEndless + iterations_of(iterations)); }
  Process::Variables variables() const {
    return {{"LD_PRELOAD", built("tests/faults/libfaulty_files.so")}, {"FAULTS", faults_.path().string()}};
  }
  fs::path runs() const { return runs_.path(); }
  fs::path run() const { return runs_.run("r"); }
  int newest() const { return newest_checkpoint(run()); }

  void set(const std::string& call, int error, double seconds = 0) const {
    spill(faults_ / "new", std::to_string(error) + " " + std::to_string(seconds));
    fs::rename(faults_ / "new", faults_ / call);
  }
  void clear(const std::string& call) const { fs::remove(faults_ / call); }
  bool is_waiting() const { return fs::exists(faults_ / "waiting"); }

  void expect_readable_checkpoints() const {
    EXPECT_GT(newest(), 0);
    for (const int iteration : checkpoints(run()))
      EXPECT_NO_THROW(read_checkpoint(checkpoint_file(run(), iteration))) << iteration;
  }
  void expect_one_error(const Result& result) const {
    EXPECT_TRUE(result.exit_code == 1 || result.exit_code == 2) << result.exit_code;
    size_t errors = 0;
    for (const std::string& line : split(result.err, '\n')) errors += line.starts_with("error: ");
    EXPECT_EQ(errors, 1u) << result.err;
  }
  // Resumes the run without a fault, to the end.
  void expect_resumes() const {
    const int saved = newest();
    expect_exit(run_program(command(saved + 5)), 0);
    EXPECT_EQ(iterations(run()), count_to(saved + 5));
    expect_readable_checkpoints();
  }

  const Runs runs_;

 private:
  const TempFolder faults_;
};

// A call that fails, and the words that the program then prints.
struct Fault {
  std::string call;
  int error;
  std::string reason;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.call << ' ' << fault.reason; }

class Failing : public FaultyFiles, public testing::WithParamInterface<Fault> {
 protected:
  // Sets the fault, and waits until the run has warned of it.
  void fail(Process& process) const {
    const Fault& fault = GetParam();
    set(fault.call, fault.error);
    const auto warned = [&] { return process.err().find("NOT SAVED") != std::string::npos; };
    ASSERT_TRUE(wait_until(warned)) << process.err();
    expect_mentions(process.err(), {"warning: ", fault.reason});
  }
};

INSTANTIATE_TEST_SUITE_P(
    Calls, Failing,
    testing::Values(Fault{"open", EMFILE, "Too many open files"}, Fault{"write", EIO, "Input/output error"},
                    Fault{"write", EDQUOT, "Disk quota exceeded"}, Fault{"write", ENOSPC, "No space left on device"},
                    Fault{"fsync", EIO, "Input/output error"}, Fault{"rename", ESTALE, "Stale file handle"}),
    [](const auto& info) { return info.param.call + std::to_string(info.param.error); });

TEST_P(Failing, IsAWarningDuringARun) {
  EndlessRun process(runs_, {}, variables());
  ASSERT_NO_FATAL_FAILURE(fail(process));
  expect_readable_checkpoints();
  const int before = newest();
  clear(GetParam().call);
  ASSERT_TRUE(wait_until([&] { return newest() > before; })) << process.err();
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75) << process.err();
  expect_rows_up_to_checkpoint(run());
  expect_readable_checkpoints();
}

TEST_P(Failing, IsAFailureAtTheEnd) {
  EndlessRun process(runs_, {}, variables());
  ASSERT_NO_FATAL_FAILURE(fail(process));
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 1) << process.err();
  expect_readable_checkpoints();
  expect_resumes();
}

TEST_P(Failing, IsOneErrorAtTheStart) {
  const Fault& fault = GetParam();
  set(fault.call, fault.error);
  const Result result = run_program(command(20), variables());
  // A file system that only cannot sync or rename may first be noticed when the first checkpoint is saved.
  if (fs::exists(run() / "metrics.csv"))
    EXPECT_EQ(result.exit_code, 1) << result.err;
  else
    expect_one_error(result);
  EXPECT_EQ(newest(), 0);
  expect_exit(run_program(command(20)), 0);
  EXPECT_EQ(iterations(run()), count_to(20));
}

// The best checkpoint is then a copy. It must not keep the others from being pruned.
TEST_F(FaultyFiles, WithoutLinksTheBestCheckpointIsACopy) {
  set("symlink", EPERM);  // as on exFAT, or SMB shares
  const Result result = expect_exit(run_program(command(400), variables()), 0);
  EXPECT_EQ(result.err, "");
  const fs::path best = run() / "checkpoints" / "best.h5";
  ASSERT_TRUE(fs::is_regular_file(fs::symlink_status(best)));
  EXPECT_NO_THROW(read_checkpoint(best));
  EXPECT_LE(checkpoints(run()).size(), 6u);
  expect_readable_checkpoints();
  clear("symlink");
  expect_resumes();
}

TEST_F(FaultyFiles, WithoutDirectoriesARunDoesNotStart) {
  set("mkdir", EACCES);
  const Result result = run_program(command(20), variables());
  expect_one_error(result);
  expect_mentions(result.err, {"Permission denied"});
  clear("mkdir");
  expect_exit(run_program(command(20)), 0);
}

// One sync takes long. If it stopped the training, there would be ten iterations until the save after it.
TEST_F(FaultyFiles, TrainingGoesOnDuringASlowSync) {
  EndlessRun process(runs_, {}, variables());
  set("fsync", 0, slow_seconds());
  ASSERT_TRUE(wait_until([&] { return is_waiting(); })) << process.err();
  clear("fsync");
  const int before = newest();
  ASSERT_TRUE(wait_until([&] { return newest() > before; }, 60 + slow_seconds())) << process.err();
  process.signal(SIGUSR1);
  const Result result = expect_exit(process.wait(), 75);
  expect_rows_up_to_checkpoint(run());
  EXPECT_GT(newest() - before, 40) << "the training waited";
  expect_readable_checkpoints();
  if (slow_seconds() > 60) expect_mentions(result.err, {"warning: writing " + run().string(), " s so far"});
}

TEST_F(FaultyFiles, ASignalDuringASlowSyncStillSaves) {
  EndlessRun process(runs_, {}, variables());
  set("fsync", 0, slow_seconds());
  ASSERT_TRUE(wait_until([&] { return is_waiting(); })) << process.err();
  clear("fsync");
  process.signal(SIGTERM);
  const Result result = expect_exit(process.wait(60 + slow_seconds()), 143);
  expect_rows_up_to_checkpoint(run());
  expect_readable_checkpoints();
  if (slow_seconds() > 60) expect_mentions(result.err, {"waiting until " + run().string(), " s so far"});
}

TEST_F(FaultyFiles, ARemovedRunDirectoryEndsTheRun) {
  EndlessRun process(runs_, {}, variables());
  fs::rename(run(), runs() / "moved");
  expect_exit(process.wait(), 1, {"error: ", run().string()});
  fs::remove_all(run());
  fs::rename(runs() / "moved", run());
  expect_readable_checkpoints();
  expect_resumes();
}

class OnASmallDisk : public FaultyFiles {
 protected:
  void SetUp() override {
    if (!disk_.is_mounted()) GTEST_SKIP() << "only root can mount a small disk";
  }
  void remount(unsigned long flags) const { ASSERT_TRUE(disk_.remount(flags)) << std::strerror(errno); }

  const SmallDisk disk_{runs()};
};

TEST_F(OnASmallDisk, ThatIsFullOrReadOnlyIsOneErrorAtTheStart) {
  disk_.fill();
  const Result full = run_program(command(20));
  expect_one_error(full);
  expect_mentions(full.err, {"No space left on device"});
  disk_.free();
  remount(MS_RDONLY);
  const Result read_only = run_program(command(20));
  expect_one_error(read_only);
  expect_mentions(read_only.err, {"Read-only file system"});
  remount(0);
  expect_exit(run_program(command(20)), 0);
  EXPECT_EQ(iterations(run()), count_to(20));
}

// The kernel makes a file system read-only after errors of the disk. It refuses to while a file is open for writing, so
// the run is stopped first.
TEST_F(OnASmallDisk, ThatBecomesReadOnlyIsOneErrorAtTheResume) {
  expect_exit(run_program(command(20)), 0);
  remount(MS_RDONLY);
  const Result result = run_program(command(30));
  expect_one_error(result);
  expect_mentions(result.err, {"Read-only file system"});
  remount(0);
  expect_readable_checkpoints();
  expect_resumes();
}

}  // namespace
}  // namespace drl::test
