// The order of computations in which few numbers wait at the same time: what does not fit into registers goes to
// memory.
#pragma once

#include <vector>

namespace drl::robot_compiler {

struct Line {
  std::vector<int> reads;  // numbers of lines before it
  bool makes_value;        // that lines behind it read; else it stores one
  int section;             // lines of a section stay together, and sections in their order
};

// The lines' numbers in the order in which they are to be computed: each behind all that it reads.
std::vector<int> order_lines(const std::vector<Line>& lines);

// The most values that wait at the same time.
int most_waiting(const std::vector<Line>& lines, const std::vector<int>& order);

}  // namespace drl::robot_compiler
