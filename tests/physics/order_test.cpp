#include "physics/order.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace drl::robot_compiler {
namespace {

std::vector<int> as_written(const std::vector<Line>& lines) {
  std::vector<int> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The sum of eight numbers by pairs is a perfect binary tree, which needs four registers and not fewer (Sethi and
// Ullman 1970).
TEST(Order, PairwiseSumNeedsFourRegisters) {
  std::vector<Line> lines(8, {{}, true, 0});
  for (int first = 0; first < 14; first += 2) lines.push_back({{first, first + 1}, true, 0});
  EXPECT_EQ(max_live_values(lines, as_written(lines)), 9);
  EXPECT_EQ(max_live_values(lines, order_lines(lines)), 5);  // one more for the new sum, before its operands are freed
}

TEST(Order, LinesFollowTheirOperands) {
  std::vector<Line> lines;
  for (int k = 0; k < 300; ++k) {
    Line line{{}, k % 7 != 0, k / 100};
    for (const int back : {3, 11, 50})
      if (k % back == 0 && k >= back && lines[static_cast<size_t>(k - back)].makes_value)
        line.reads.push_back(k - back);
    lines.push_back(line);
  }
  const std::vector<int> order = order_lines(lines);
  ASSERT_EQ(order.size(), lines.size());
  std::vector<bool> is_there(lines.size());
  int section = 0;
  for (const int k : order) {
    const Line& line = lines[static_cast<size_t>(k)];
    for (const int read : line.reads) EXPECT_TRUE(is_there[static_cast<size_t>(read)]);
    EXPECT_FALSE(is_there[static_cast<size_t>(k)]);
    EXPECT_GE(line.section, section);
    is_there[static_cast<size_t>(k)] = true, section = line.section;
  }
}

}  // namespace
}  // namespace drl::robot_compiler
