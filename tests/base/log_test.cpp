#include "base/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include "base/check.hpp"

namespace drl {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    log::set_writer([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    log::to_file("");
    log::set_writer({});
    log::init(0, 1, "", false);
  }
  static void log_at_all_levels() {
    log::info("{} ranks", 2);
    log::warn("slow {}", "disk");
    log::error("no {}", "memory");
  }
  using Lines = std::vector<std::string>;
  Lines lines_;
};

TEST_F(LogTest, OneRankLogsWithoutRankAndHost) {
  log::init(0, 1, "node7", false);
  log_at_all_levels();
  EXPECT_EQ(lines_, (Lines{"2 ranks\n", "warning: slow disk\n", "error: no memory\n"}));
}

TEST_F(LogTest, ErrorsOfSeveralRanksBeginWithRankAndHost) {
  log::init(0, 4, "node6", false);
  log_at_all_levels();
  EXPECT_EQ(lines_, (Lines{"2 ranks\n", "warning: slow disk\n", "error: [rank 0 on node6] no memory\n"}));
}

TEST_F(LogTest, OtherRanksReportErrorsOnly) {
  log::init(3, 4, "node7", false);
  log_at_all_levels();
  EXPECT_EQ(lines_, Lines{"error: [rank 3 on node7] no memory\n"});
}

TEST_F(LogTest, QuietHidesInfo) {
  log::init(0, 1, "node7", true);
  log_at_all_levels();
  EXPECT_EQ(lines_, (Lines{"warning: slow disk\n", "error: no memory\n"}));
}

TEST_F(LogTest, BracesOfAMessageAreNotAFormat) {
  log::error("{}", "{oops} {}");
  EXPECT_EQ(lines_, Lines{"error: {oops} {}\n"});
}

TEST_F(LogTest, WithoutAWriterLinesGoToStderr) {
  log::set_writer({});
  testing::internal::CaptureStderr();
  log_at_all_levels();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "2 ranks\nwarning: slow disk\nerror: no memory\n");
  EXPECT_TRUE(lines_.empty());
}

class LogFileTest : public LogTest {
 protected:
  void SetUp() override {
    LogTest::SetUp();
    folder_ = testing::TempDir() + "drl_log_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/rank0.log";
  }
  void TearDown() override {
    LogTest::TearDown();
    std::filesystem::remove_all(folder_);
  }
  std::string content() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  std::string folder_, path_;
};

TEST_F(LogFileTest, ReceivesEveryMessageImmediatelyWithItsTime) {
  log::init(0, 2, "node7", true);
  log::to_file(path_);
  log_at_all_levels();
  const std::string time = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )";
  const std::regex expected(time + R"(\[info\] 2 ranks\n)" + time + R"(\[warning\] slow disk\n)" + time +
                            R"(\[error\] \[rank 0 on node7\] no memory\n)");
  EXPECT_TRUE(std::regex_match(content(), expected)) << content();
  EXPECT_EQ(lines_.size(), 2U);  // quiet on the terminal
}

TEST_F(LogFileTest, IsAppendedToAndCanBeClosed) {
  log::to_file(path_);
  log::info("first");
  log::to_file("");
  log::info("nowhere");
  log::to_file(path_);
  log::info("second");
  const std::string text = content();
  EXPECT_NE(text.find("first"), std::string::npos);
  EXPECT_EQ(text.find("nowhere"), std::string::npos);
  EXPECT_NE(text.find("second"), std::string::npos);
}

TEST_F(LogFileTest, FailureToOpenIsAnError) { EXPECT_THROW(log::to_file(folder_), Error); }

}  // namespace
}  // namespace drl
