#include "run/run_monitor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/log.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

class RunMonitorTest : public testing::Test {
 protected:
  static RunStart start(const fs::path& path) {
    RunStart result;
    result.directory = path;
    return result;
  }
  void save(int64_t iteration, double score) {
    monitor.save({iteration}, 0, {{"x", DType::u8, {1}, {std::byte{1}}}}, score);
  }
  // Returns the run's files and their contents.
  std::map<fs::path, std::string> files() const {
    std::map<fs::path, std::string> result;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
      if (entry.is_regular_file()) result[entry.path()] = slurp(entry.path());
    return result;
  }

  TempFolder folder;
  RunDirectory directory{start(folder / "r")};
  RunManifest manifest{directory.path() / "run.json", {}, "now"};
  RunMonitor monitor{{}, directory, manifest, "", {}, std::nullopt, ConsoleMode::quiet, ""};
};

// The best checkpoint cannot be written, so the next best becomes best.h5.
TEST_F(RunMonitorTest, MarksTheBestOfTheSavedCheckpoints) {
  fs::create_directories(directory.checkpoint(1) / "in the way");  // a directory at the checkpoint's path
  testing::internal::CaptureStderr();
  save(1, 9);
  save(2, 5);
  save(3, 4);
  EXPECT_TRUE(monitor.finish({3}, "done"));
  expect_mentions(testing::internal::GetCapturedStderr(), {"warning: ", "NOT SAVED", "iter_000001.h5"});
  EXPECT_EQ(fs::read_symlink(directory.path() / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(RunMonitorTest, MakesARemovedDirectoryOfCheckpointsAgain) {
  save(1, 1);
  EXPECT_TRUE(monitor.finish({1}, "running"));
  fs::remove_all(directory.path() / "checkpoints");
  save(2, 2);
  EXPECT_TRUE(monitor.finish({2}, "done"));
  EXPECT_TRUE(fs::exists(directory.checkpoint(2)));
  EXPECT_EQ(fs::read_symlink(directory.path() / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(RunMonitorTest, EndsARunWhoseDirectoryIsGone) {
  fs::rename(directory.path(), folder / "elsewhere");
  EXPECT_THROW(monitor.requested_stop(), Error);
  EXPECT_THROW(save(1, 1), Error);
  EXPECT_THROW(monitor.finish({1}, "done"), Error);
  monitor.fail({1}, "no disk");
  EXPECT_FALSE(fs::exists(directory.path()));
}

TEST_F(RunMonitorTest, TheWarningOfAFailedSaveNamesTheNewestCheckpoint) {
  save(1, 1);
  EXPECT_TRUE(monitor.finish({1}, "running"));
  fs::create_directories(directory.checkpoint(2) / "in the way");
  testing::internal::CaptureStderr();
  save(2, 2);
  EXPECT_FALSE(monitor.finish({2}, "done"));
  expect_mentions(testing::internal::GetCapturedStderr(), {"NOT SAVED", "iter_000002.h5"});
  fs::remove_all(directory.checkpoint(1));
  fs::remove_all(directory.checkpoint(2));
  fs::create_directories(directory.checkpoint(3) / "in the way");
  testing::internal::CaptureStderr();
  save(3, 3);
  EXPECT_FALSE(monitor.finish({3}, "done"));
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("iter_000001"), std::string::npos);
}

TEST_F(RunMonitorTest, RemovesAStopFileThatCameTooLate) {
  spill(directory.path() / "STOP", "");
  monitor.finish({1}, "done");
  EXPECT_FALSE(fs::exists(directory.path() / "STOP"));
}

TEST_F(RunMonitorTest, TheFileStopRequestsAStop) {
  EXPECT_EQ(monitor.requested_stop(), Stop::none);
  RunMonitor another{{}, directory, manifest, "", {}, std::nullopt, ConsoleMode::quiet, ""};
  spill(directory.path() / "STOP", "");
  EXPECT_EQ(another.requested_stop(), Stop::to_be_continued);
}

TEST_F(RunMonitorTest, RecordsAFailure) {
  monitor.fail({4, 256}, "no disk");
  const nlohmann::json json = nlohmann::json::parse(slurp(directory.path() / "run.json"));
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("cause"), "no disk");
  EXPECT_EQ(json.at("iteration"), 4);
}

// Rows, events, run.json, the log and the file STOP must stay unchanged.
TEST_F(RunMonitorTest, ChangesNoFileOfARunThatWasTakenOver) {
  if (directory.lock_kind() == "file system") GTEST_SKIP() << "only a lock file can be lost (no_locks)";
  save(1, 5);
  ASSERT_TRUE(monitor.finish({1}, "running"));
  spill(directory.path() / ".lock.owner.2", "{}");
  spill(directory.path() / "STOP", "");
  const std::map<fs::path, std::string> before = files();
  monitor.iteration({});
  EXPECT_THROW(save(2, 6), Error);
  EXPECT_THROW(monitor.finish({2}, "done"), Error);
  monitor.fail({2}, "no disk");
  testing::internal::CaptureStderr();
  log::warn("for the terminal");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: for the terminal\n");
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace drl
