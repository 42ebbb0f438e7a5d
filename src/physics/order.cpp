#include "physics/order.hpp"

#include <algorithm>

namespace drl::robot_compiler {
namespace {

constexpr size_t kWindow = 1000;  // the next line is chosen among this many, counted from the first remaining one

// Returns the number of lines that read each line.
std::vector<int> count_readers(const std::vector<Line>& lines) {
  std::vector<int> readers(lines.size());
  for (const Line& line : lines)
    for (const int read : line.reads) readers[static_cast<size_t>(read)] += 1;
  return readers;
}

}  // namespace

// A greedy algorithm. Among the lines whose operands are ready, it always takes the one that frees the most values; if
// several free as many, it takes the first.
std::vector<int> order_lines(const std::vector<Line>& lines) {
  std::vector<int> readers = count_readers(lines), order;
  std::vector<bool> is_done(lines.size());
  size_t first = 0;  // the first line that is not done
  const auto is_ready = [&](const Line& line) {
    return std::ranges::all_of(line.reads, [&](int read) { return is_done[static_cast<size_t>(read)]; });
  };
  const auto gain = [&](const Line& line) {
    const auto is_last = [&](int read) { return readers[static_cast<size_t>(read)] == 1; };
    return static_cast<int>(std::ranges::count_if(line.reads, is_last)) - (line.makes_value ? 1 : 0);
  };
  while (order.size() < lines.size()) {
    while (is_done[first]) first += 1;
    size_t best = lines.size();
    int best_gain = 0;
    for (size_t i = first; i < lines.size() && i < first + kWindow && lines[i].section == lines[first].section; ++i) {
      if (is_done[i] || !is_ready(lines[i])) continue;
      const int gained = gain(lines[i]);
      if (best < lines.size() && gained <= best_gain) continue;
      best = i, best_gain = gained;
    }
    is_done[best] = true;
    for (const int read : lines[best].reads) readers[static_cast<size_t>(read)] -= 1;
    order.push_back(static_cast<int>(best));
  }
  return order;
}

int max_live_values(const std::vector<Line>& lines, const std::vector<int>& order) {
  std::vector<int> readers = count_readers(lines);
  int live = 0, most = 0;
  for (const int i : order) {
    const Line& line = lines[static_cast<size_t>(i)];
    if (line.makes_value && readers[static_cast<size_t>(i)] > 0) live += 1;
    most = std::max(most, live);
    for (const int read : line.reads)
      if (--readers[static_cast<size_t>(read)] == 0) live -= 1;
  }
  return most;
}

}  // namespace drl::robot_compiler
