#include "run/run_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../support/temp_folder.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

class Report : public testing::Test {
 protected:
  static RunStart start(const fs::path& path) {
    RunStart result;
    result.directory = path;
    return result;
  }
  // The folder of checkpoints can be broken and mended: a full folder stands where that of iteration 1 belongs.
  void save(int64_t iteration, double score) {
    report.save(iteration, 0, 0, {{"x", DType::u8, {1}, {std::byte{1}}}}, score, {});
  }

  TempFolder folder;
  RunDirectory directory{start(folder / "r")};
  RunRecord record{directory.path() / "run.json", {}, "now"};
  RunReport report{{}, directory, record, "", {}, std::nullopt, ConsoleMode::quiet, ""};
};

// A better checkpoint that could not be written is no reason to refuse the next best.
TEST_F(Report, TheBestIsTheBestOfTheFiles) {
  fs::create_directories(directory.checkpoint(1) / "in the way");
  testing::internal::CaptureStderr();
  save(1, 9);
  save(2, 5);
  save(3, 4);
  EXPECT_TRUE(report.finish(3, 0, "done", {}));
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("THE CHECKPOINT WAS NOT SAVED"), std::string::npos) << err;
  EXPECT_EQ(fs::read_symlink(directory.path() / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(Report, AStopFileThatCameTooLateIsNoWordToTheNextStart) {
  spill(directory.path() / "STOP", "");
  report.finish(1, 0, "done", {});
  EXPECT_FALSE(fs::exists(directory.path() / "STOP"));
}

TEST_F(Report, AFileAsksToStop) {
  EXPECT_EQ(report.requested_stop(), Stop::none);
  RunReport another{{}, directory, record, "", {}, std::nullopt, ConsoleMode::quiet, ""};
  spill(directory.path() / "STOP", "");
  EXPECT_EQ(another.requested_stop(), Stop::to_be_continued);
}

TEST_F(Report, AFailureIsRecorded) {
  report.fail(4, 256, {});
  const nlohmann::json json = nlohmann::json::parse(slurp(directory.path() / "run.json"));
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("iteration"), 4);
}

}  // namespace
}  // namespace drl
