#include "physics/order.hpp"

#include <algorithm>
#include <set>
#include <utility>

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
  std::vector<int> readers = count_readers(lines), waits_for, gain, order;
  std::vector<std::vector<int>> read_by(lines.size());
  std::vector<bool> is_done(lines.size());
  std::set<std::pair<int, size_t>> ready;  // of the window: minus the gain, and the line
  for (size_t i = 0; i < lines.size(); ++i) {
    waits_for.push_back(static_cast<int>(lines[i].reads.size()));
    gain.push_back(lines[i].makes_value ? -1 : 0);
    for (const int read : lines[i].reads) {
      read_by[static_cast<size_t>(read)].push_back(static_cast<int>(i));
      if (readers[static_cast<size_t>(read)] == 1) gain[i] += 1;
    }
  }
  size_t first = 0, end = 0;  // the first line that is not done, and the end of the window
  const auto is_in_window = [&](size_t i) { return i < end && !is_done[i] && waits_for[i] == 0; };
  while (order.size() < lines.size()) {
    while (is_done[first]) first += 1;
    for (end = std::max(end, first); end < lines.size() && end < first + kWindow; ++end) {
      if (lines[end].section != lines[first].section) break;
      if (!is_done[end] && waits_for[end] == 0) ready.emplace(-gain[end], end);
    }
    const size_t best = ready.begin()->second;
    ready.erase(ready.begin());
    is_done[best] = true;
    order.push_back(static_cast<int>(best));
    for (const int reader : read_by[best]) {
      const auto i = static_cast<size_t>(reader);
      if (--waits_for[i] == 0 && i < end) ready.emplace(-gain[i], i);
    }
    for (const int read : lines[best].reads) {
      if (--readers[static_cast<size_t>(read)] != 1) continue;
      // One reader is left, which frees the value.
      for (const int reader : read_by[static_cast<size_t>(read)]) {
        const auto i = static_cast<size_t>(reader);
        if (is_done[i]) continue;
        const bool was_ready = is_in_window(i) && ready.erase({-gain[i], i}) > 0;
        gain[i] += 1;
        if (was_ready) ready.emplace(-gain[i], i);
      }
    }
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
