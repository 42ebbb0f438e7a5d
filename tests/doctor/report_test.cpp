// Tests of the report's lines.
#include "doctor/report.hpp"

#include <gtest/gtest.h>

namespace drl {
namespace {

TEST(CheckLines, TheRemedyHasItsOwnLine) {
  EXPECT_EQ(lines_of({Status::ok, "1 h", "", "time left"}), "ok       time left          1 h\n");
  EXPECT_EQ(lines_of({Status::failed, "no", "set it", "time left"}),
            "failed   time left          no\n         -> set it\n");
}

TEST(CheckLines, TheSummaryCounts) {
  const Check ok{Status::ok, ""}, skipped{Status::skipped, ""}, warning{Status::warning, ""},
      failed{Status::failed, ""};
  EXPECT_EQ(summary_of({ok}), "1 check: 1 ok\n");
  EXPECT_EQ(summary_of({failed, ok, warning, skipped, warning, ok}),
            "6 checks: 2 ok, 1 skipped, 2 warnings, 1 failed\n");
  EXPECT_FALSE(any_failed({ok, skipped, warning}));
  EXPECT_TRUE(any_failed({ok, failed}));
}

TEST(CheckLines, AMessageIsSplitIntoFindingAndRemedy) {
  const Check check =
      check_of_message(Status::failed, "2 ranks have only 1 GPU (0: the first; a rank needs one): use one");
  EXPECT_EQ(check.finding, "2 ranks have only 1 GPU (0: the first; a rank needs one)");
  EXPECT_EQ(check.remedy, "use one");
  EXPECT_EQ(check_of_message(Status::warning, "no reason given").finding, "no reason given");
  EXPECT_EQ(check_of_message(Status::warning, "too few cores: ask for more").remedy, "ask for more");
}

}  // namespace
}  // namespace drl
