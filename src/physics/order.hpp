// Orders computations so that few values are live at the same time, because values that do not fit into registers are
// spilled to memory.
#pragma once

#include <vector>

namespace drl::robot_compiler {

struct Line {
  std::vector<int> reads;  // indices of earlier lines
  bool makes_value;        // the line defines a value that later lines read; otherwise it stores one
  int section;             // sections stay in order, and their lines stay together
};

// Returns the indices of the lines in the order of computation. Each line comes after all that it reads.
std::vector<int> order_lines(const std::vector<Line>& lines);

// Returns the largest number of values that are live at the same time.
int max_live_values(const std::vector<Line>& lines, const std::vector<int>& order);

}  // namespace drl::robot_compiler
