#include "physics/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

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
  std::vector<Line> lines(8, {{}, true});
  for (int first = 0; first < 14; first += 2) lines.push_back({{first, first + 1}, true});
  EXPECT_EQ(max_live_values(lines, as_written(lines)), 9);
  EXPECT_EQ(max_live_values(lines, order_lines(lines)), 5);  // one more for the new sum, before its operands are freed
}

// A number that is read from memory is read just before it is needed, not when it is listed: a sum of n numbers one by
// one needs two registers, apart from the one for the new sum.
TEST(Order, NumbersAreReadWhenTheyAreNeeded) {
  constexpr int n = 40;
  std::vector<Line> lines(n, {{}, true});
  int sum = 0;
  for (int k = 1; k < n; ++k) {
    lines.push_back({{sum, k}, true});
    sum = static_cast<int>(lines.size()) - 1;
  }
  EXPECT_EQ(max_live_values(lines, order_lines(lines)), 3);
}

// Two parts that share nothing are computed one after the other, though their lines are listed in turns: each keeps
// twelve numbers until its end, which fit into the registers of AVX2.
TEST(Order, PartsAreComputedOneAfterTheOther) {
  std::vector<Line> lines;
  constexpr int kept = 12;
  for (int k = 0; k < 2 * kept; ++k) lines.push_back({{}, true});
  for (int step = 0; step < 3; ++step)
    for (int k = 0; k < 2 * kept; ++k) lines.push_back({{static_cast<int>(lines.size()) - 2 * kept}, true});
  for (int part = 0; part < 2; ++part) {
    Line last{{}, false};
    for (int k = 0; k < kept; ++k) last.reads.push_back(static_cast<int>(lines.size()) - 2 * kept + 2 * k);
    lines.push_back(last);
  }
  EXPECT_EQ(max_live_values(lines, as_written(lines)), 2 * kept + 1);
  EXPECT_LE(max_live_values(lines, order_lines(lines)), kept + 1);
}

// Each value is stored after the last line that reads it, so that the stores do not stand between reads from memory.
TEST(Order, ValuesAreStoredAfterTheirLastUse) {
  const std::vector<Line> lines{{{}, true}, {{0}, false}, {{0}, true}, {{2}, false}, {{0, 2}, false}};
  const std::vector<int> order = order_lines(lines);
  const auto at = [&](int line) { return std::ranges::find(order, line) - order.begin(); };
  EXPECT_LT(at(4), at(1));
  EXPECT_LT(at(4), at(3));
}

// By hand, with two registers: a and b are held; c takes the place of b, whose next use is later than a's, so b is
// stored; the last line loads b again.
TEST(Order, TransfersAreThoseOfTheFarthestNextUse) {
  const std::vector<Line> lines{{{}, true}, {{}, true}, {{}, true}, {{0, 2}, false}, {{1}, false}};
  EXPECT_EQ(count_transfers(lines, as_written(lines), 2), 2);
  EXPECT_EQ(count_transfers(lines, as_written(lines), 3), 0);
}
// A line of three operands with two registers: a is stored to load c, and loaded again for the last line.
TEST(Order, LinesMayReadMoreValuesThanThereAreRegisters) {
  const std::vector<Line> lines{{{}, true}, {{}, true}, {{}, true}, {{0, 1, 2}, false}, {{0}, false}};
  EXPECT_GE(count_transfers(lines, as_written(lines), 2), 2);
  EXPECT_EQ(count_transfers(lines, as_written(lines), 3), 0);
}
// A value that was stored once is not stored again.
TEST(Order, ValuesAreStoredOnce) {
  //  a, b; c pushes a out; the sum of b and c; a is loaded, and pushed out by d and e; a is loaded again
  const std::vector<Line> lines{{{}, true}, {{}, true}, {{}, true},      {{1, 2}, false}, {{0}, false},
                                {{}, true}, {{}, true}, {{5, 6}, false}, {{0}, false}};
  EXPECT_EQ(count_transfers(lines, as_written(lines), 2), 3);
}

// Random graphs: of numbers that are read, values, results that are stored, and values that nobody reads.
TEST(Order, EachLineIsThereOnceAfterItsOperands) {
  std::mt19937 random;
  for (int graph = 0; graph < 100; ++graph) {
    const size_t count = 20 + random() % 400, operands = 1 + random() % 6;
    std::vector<Line> lines;
    std::vector<int> values;
    while (lines.size() < count) {
      Line line{{}, random() % 5 != 0};
      for (size_t k = random() % (operands + 1); k > 0 && !values.empty(); --k)
        if (const int read = values[random() % values.size()]; std::ranges::count(line.reads, read) == 0)
          line.reads.push_back(read);
      if (line.makes_value) values.push_back(static_cast<int>(lines.size()));
      lines.push_back(line);
    }
    const std::vector<int> order = order_lines(lines);
    ASSERT_EQ(order.size(), lines.size());
    std::vector<bool> is_there(lines.size());
    for (const int k : order) {
      for (const int read : lines[static_cast<size_t>(k)].reads) EXPECT_TRUE(is_there[static_cast<size_t>(read)]);
      EXPECT_FALSE(is_there[static_cast<size_t>(k)]);
      is_there[static_cast<size_t>(k)] = true;
    }
  }
}

// x is read by six lines; the first three results are stored together, then the last three. Four values are live at the
// same time. With three, the first part cannot hold the store, since x, a, b and c would be live before it. Three or
// four lines are the second half of its possible ends; only a and b cross the former (x is read again from memory). The
// second part loads a and b and stores; it ends where nothing crosses. The last two share d, e and f in the same way.
TEST(Order, PartsHaveFewLiveValues) {
  const Line value{{0}, true};
  const std::vector<Line> lines{{{}, true},        value, value, value, {{1, 2, 3}, false}, value, value, value,
                                {{5, 6, 7}, false}};
  EXPECT_EQ(cut_order(lines, as_written(lines), 4), (std::vector<size_t>{0}));
  EXPECT_EQ(cut_order(lines, as_written(lines), 3), (std::vector<size_t>{0, 3, 5, 7}));
}

}  // namespace
}  // namespace drl::robot_compiler
