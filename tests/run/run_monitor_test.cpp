#include "run/run_monitor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

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
  // The folder of checkpoints can be broken and mended: a full folder stands where that of iteration 1 belongs.
  void save(int64_t iteration, double score) {
    monitor.save({iteration}, 0, {{"x", DType::u8, {1}, {std::byte{1}}}}, score);
  }
  // The run's, and what is in them.
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

// A better checkpoint that could not be written is no reason to refuse the next best.
TEST_F(RunMonitorTest, TheBestIsTheBestOfTheFiles) {
  fs::create_directories(directory.checkpoint(1) / "in the way");
  testing::internal::CaptureStderr();
  save(1, 9);
  save(2, 5);
  save(3, 4);
  EXPECT_TRUE(monitor.finish({3}, "done"));
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("THE CHECKPOINT WAS NOT SAVED"), std::string::npos) << err;
  EXPECT_EQ(fs::read_symlink(directory.path() / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(RunMonitorTest, AStopFileThatCameTooLateIsNoWordToTheNextStart) {
  spill(directory.path() / "STOP", "");
  monitor.finish({1}, "done");
  EXPECT_FALSE(fs::exists(directory.path() / "STOP"));
}

TEST_F(RunMonitorTest, AFileAsksToStop) {
  EXPECT_EQ(monitor.requested_stop(), Stop::none);
  RunMonitor another{{}, directory, manifest, "", {}, std::nullopt, ConsoleMode::quiet, ""};
  spill(directory.path() / "STOP", "");
  EXPECT_EQ(another.requested_stop(), Stop::to_be_continued);
}

TEST_F(RunMonitorTest, AFailureIsRecorded) {
  monitor.fail({4, 256});
  const nlohmann::json json = nlohmann::json::parse(slurp(directory.path() / "run.json"));
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("iteration"), 4);
}

// Of all its files: rows, events, run.json, the log, the word to the next start.
TEST_F(RunMonitorTest, ARunThatAnotherProcessHasTakenOverIsLeftAlone) {
  if (directory.lock_kind() == "file system") GTEST_SKIP() << "only a lock file can be lost (no_locks)";
  save(1, 5);
  ASSERT_TRUE(monitor.finish({1}, "running"));
  spill(directory.path() / ".lock.owner.2", "{}");
  spill(directory.path() / "STOP", "");
  const std::map<fs::path, std::string> before = files();
  monitor.iteration({});
  EXPECT_THROW(save(2, 6), Error);
  EXPECT_THROW(monitor.finish({2}, "done"), Error);
  monitor.fail({2});
  testing::internal::CaptureStderr();
  log::warn("said on the terminal");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: said on the terminal\n");
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace drl
