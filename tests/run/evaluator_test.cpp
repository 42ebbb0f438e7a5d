#include "run/evaluator.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl {
namespace {

// 1, 2, 4, 5: mean 12 / 4 = 3, sum of squared differences 4 + 1 + 1 + 4 = 10, std sqrt(10 / 3).
TEST(Summary, IsMeanStdMinMax) {
  const Summary summary = summarize(std::vector<double>{4, 1, 5, 2});
  EXPECT_DOUBLE_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.std, std::sqrt(10.0 / 3));
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 5);
}

TEST(Summary, HasStdZeroForOneValue) {
  const Summary summary = summarize(std::vector<int64_t>{-7});
  EXPECT_EQ(summary.mean, -7);
  EXPECT_EQ(summary.std, 0);
  EXPECT_EQ(summary.min, -7);
  EXPECT_EQ(summary.max, -7);
}

TEST(Summary, IsNaNWithoutValues) { EXPECT_TRUE(std::isnan(summarize(std::vector<double>{}).mean)); }

}  // namespace
}  // namespace drl
