#include <gtest/gtest.h>

#include <cmath>

#include "base/check.hpp"
#include "report/page/run_record.hpp"

namespace drl {
namespace {

TEST(MetricsTable, ReadsColumnsByName) {
  const MetricsTable table = parse_metrics("iteration,env_steps,kl\n1,64,0.5\n2,128,nan\n3,192,-1e-3\n", "f");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"env_steps", "kl"}));
  EXPECT_EQ(table.iterations, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(*table.find("env_steps"), (std::vector<double>{64, 128, 192}));
  EXPECT_EQ((*table.find("kl"))[0], 0.5);
  EXPECT_TRUE(std::isnan((*table.find("kl"))[1]));
  EXPECT_EQ(table.last("kl"), -1e-3);
  EXPECT_EQ(table.find("iteration"), nullptr);
  EXPECT_TRUE(std::isnan(table.last("reward")));
  EXPECT_EQ(table.damaged_rows, 0);
}

// The file of a run in progress may end in the middle of a row, which is ignored.
TEST(MetricsTable, IgnoresALastLineWithoutNewline) {
  const std::string whole = "iteration,env_steps\n1,64\n2,128";
  for (size_t cut = 0; cut < 5; ++cut) {
    const MetricsTable table = parse_metrics(whole.substr(0, whole.size() - cut), "f");
    EXPECT_EQ(table.iterations, std::vector<int64_t>{1});
    EXPECT_EQ(table.damaged_rows, 0);
  }
}

TEST(MetricsTable, CountsDamagedRows) {
  const std::string rows =
      "1,64\n"     // line 2
      "2,\n"       // a missing number
      "x,128\n"    // an invalid iteration
      "2,128,7\n"  // too many numbers
      "2\n"        // too few numbers
      "-3,128\n"   // a negative iteration
      "\n"         // an empty line
      "2,1e2 \n"   // a space after the number
      "1,64\n"     // not larger than the previous iteration
      "9999999999999999999,1\n"
      "5,320\r\n";  // a Windows line end is allowed
  const MetricsTable table = parse_metrics("iteration,env_steps\n" + rows, "f");
  EXPECT_EQ(table.iterations, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(*table.find("env_steps"), (std::vector<double>{64, 320}));
  EXPECT_EQ(table.damaged_rows, 9);
  EXPECT_EQ(table.first_damaged_line, 3);
}

TEST(MetricsTable, RefusesOtherFiles) {
  for (const char* text : {"", "iteration,a", "a,iteration\n1,2\n", "\x89HDF\r\n\x1a\n", "\n\n"})
    EXPECT_THROW(parse_metrics(text, "f"), UsageError) << text;
  EXPECT_TRUE(parse_metrics("iteration\n", "f").iterations.empty());
}

}  // namespace
}  // namespace drl
