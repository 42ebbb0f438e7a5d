#include "device/reduce.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "../support/host_loops.hpp"
#include "math_loops.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kColumns = FewColumns::kColumns;

// The sums of integers are exact.
TEST(Reduce, SumsColumnsOfAnyNumberOfRows) {
  for (const int64_t rows : {1, 15, 16, 17, 1003}) {
    std::vector<float> x;
    std::vector<double> expected(kColumns);
    for (int c = 0; c < kColumns; ++c)
      for (int64_t row = 0; row < rows; ++row) {
        x.push_back(static_cast<float>((c + 1) * row - 100));
        expected[static_cast<size_t>(c)] += x.back();
      }
    const std::vector<double> sums = in_every_way([&](const Loops& loops) {
      std::vector<double> out(kColumns), scratch(sum_scratch(loops.queue(), kColumns));
      sum_columns(loops.queue(), rows, kColumns, scratch.data(), FewColumns{x.data(), rows}, StoreTo{out.data()});
      return out;
    });
    EXPECT_EQ(sums, expected) << rows;
  }
}

// The rounding depends on the order of the additions. This order must be that of 16 lanes, for sums in registers and
// for sums in memory.
TEST(Reduce, AddsInAFixedOrder) {
  constexpr int64_t rows = 777;
  std::vector<float> x;
  for (int64_t i = 0; i < kColumns * rows; ++i) x.push_back(static_cast<float>(i % 2 ? 1e-12 * i : 1e9 / (i + 1)));
  const auto sums = [&](const auto& columns) {
    return in_every_way([&](const Loops& loops) {
      std::vector<double> out(kColumns), scratch(sum_scratch(loops.queue(), kColumns));
      sum_columns(loops.queue(), rows, kColumns, scratch.data(), columns, StoreTo{out.data()});
      return out;
    });
  };
  const FewColumns few{x.data(), rows};
  const std::vector<double> of_few = sums(few);
  EXPECT_EQ(of_few, sums(SomeColumns{few}));
  double lanes[kSumLanes] = {};
  for (int64_t row = 0; row < rows; ++row) lanes[row % kSumLanes] += x[static_cast<size_t>(row)];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  EXPECT_NEAR(of_few[0], sum, 1e-15 * sum);
}

}  // namespace
}  // namespace drl
