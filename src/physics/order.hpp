// Orders computations so that few values are live at the same time, because values that do not fit into registers are
// spilled to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drl::robot_compiler {

inline constexpr int kGpuRegisters = 200;  // of 255, without those of addresses and operands

struct Line {
  std::vector<int> reads;  // indices of earlier lines
  bool makes_value;        // the line defines a value that later lines read; otherwise it stores one
};

// Returns the indices of the lines in the order of computation. Each line comes after all that it reads. Of several
// orders it is the one with the fewest transfers to and from memory with the registers of AVX2, AVX-512 and a GPU.
std::vector<int> order_lines(const std::vector<Line>& lines);

// Returns the largest number of values that are live at the same time.
int max_live_values(const std::vector<Line>& lines, const std::vector<int>& order);

// Returns how often values are stored to memory and loaded again if there are this many registers, and if the one that
// is freed always holds the value whose next use is farthest (Belady 1966, doi:10.1147/sj.52.0078). A line may read
// more values than there are registers, one after the other.
int64_t count_transfers(const std::vector<Line>& lines, const std::vector<int>& order, int registers);

// Cuts an order into parts, so that at most `most` values are live in each: values that the part makes, or loads if an
// earlier part has made them, and that a later line of the part reads. Returns the position of each part's first line.
std::vector<size_t> cut_order(const std::vector<Line>& lines, const std::vector<int>& order, int most);

}  // namespace drl::robot_compiler
