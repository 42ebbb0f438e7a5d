#include "physics/order.hpp"

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

namespace drl::robot_compiler {
namespace {

using Lines = std::vector<Line>;

size_t place(int i) { return static_cast<size_t>(i); }

// Returns the lines that read each line.
std::vector<std::vector<int>> find_readers(const Lines& lines) {
  std::vector<std::vector<int>> readers(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    for (const int read : lines[i].reads) readers[place(read)].push_back(static_cast<int>(i));
  return readers;
}
std::vector<int> sizes_of(const std::vector<std::vector<int>>& lists) {
  std::vector<int> sizes;
  for (const auto& list : lists) sizes.push_back(static_cast<int>(list.size()));
  return sizes;
}

// The rank of a line: how many values it frees, when its operands were used last, and its number or minus its number.
struct Rank {
  static constexpr int kNone = std::numeric_limits<int>::min();
  int gain = kNone, last = 0, line = 0;
  auto operator<=>(const Rank&) const = default;
};
// The lines that may be taken next, in a tree: an inner node has the higher one of two ranks.
class ReadyLines {
 public:
  explicit ReadyLines(size_t lines) : tree_(2 * std::bit_ceil(lines + 1)) {}

  bool empty() const { return tree_[1].gain == Rank::kNone; }
  bool has(int line) const { return tree_[tree_.size() / 2 + place(line)].gain != Rank::kNone; }
  // Adds a line, or changes its rank.
  void set(int line, const Rank& rank) {
    size_t node = tree_.size() / 2 + place(line);
    tree_[node] = rank;
    while (node /= 2) tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
  }
  // Removes and returns the line with the highest rank.
  int take() {
    const int line = std::abs(tree_[1].line);
    set(line, {});
    return line;
  }

 private:
  std::vector<Rank> tree_;  // the children of node k are 2 k and 2 k + 1
};

// Returns whether a line does nothing but store a value.
bool is_store(const Line& line) { return !line.makes_value && line.reads.size() == 1; }

enum class Ties { first_line, recent };

// A greedy algorithm. Among the lines whose operands are ready, it always takes the one that frees the most values. If
// several free as many, `ties` says which: the first, or the one with the operand that was used last, so that the
// algorithm stays in one part of the graph until that is done. If `reads_late`, lines without operands, which read
// numbers from memory, are not taken for themselves but just before the first line that needs them. A value is stored
// after all other lines that read it, so that few stores stand between the reads that a compiler may combine.
std::vector<int> order_forwards(const Lines& lines, Ties ties, bool reads_late) {
  const auto readers = find_readers(lines);
  std::vector<int> unread(lines.size()), waits_for(lines.size()), order;
  std::vector<int> used_at(lines.size());  // the length of the order when a value was made or used last; before, 0
  std::vector<std::vector<int>> stores(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    if (is_store(lines[i])) stores[place(lines[i].reads[0])].push_back(static_cast<int>(i));
  for (size_t i = 0; i < lines.size(); ++i) unread[i] = static_cast<int>(readers[i].size() - stores[i].size());
  const auto waits = [&](int i) {
    const Line& line = lines[place(i)];
    return !(reads_late && line.reads.empty() && line.makes_value);
  };
  ReadyLines ready(lines.size());
  const auto rank = [&](int i) {
    const Line& line = lines[place(i)];
    int gain = line.makes_value && unread[place(i)] > 0 ? -1 : 0, last = 0;
    for (const int read : line.reads) {
      gain += (unread[place(read)] == 1 ? 1 : 0) - (used_at[place(read)] == 0 ? 1 : 0);
      if (ties == Ties::recent) last = std::max(last, used_at[place(read)]);
    }
    ready.set(i, {gain, last, -i});
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    waits_for[i] = static_cast<int>(std::ranges::count_if(lines[i].reads, waits));
    if (waits_for[i] == 0 && waits(static_cast<int>(i)) && !is_store(lines[i])) rank(static_cast<int>(i));
  }
  const auto take = [&](int i) {
    order.push_back(i);
    used_at[place(i)] = static_cast<int>(order.size());
    if (unread[place(i)] == 0) order.insert(order.end(), stores[place(i)].begin(), stores[place(i)].end());
  };
  std::vector<int> changed;  // operands of the last line whose readers' ranks change
  // Numbers that are read only to be stored.
  for (size_t i = 0; i < lines.size(); ++i)
    if (!waits(static_cast<int>(i)) && unread[i] == 0) take(static_cast<int>(i));
  while (!ready.empty()) {
    const int best = ready.take();
    changed.clear();
    for (const int read : lines[place(best)].reads)
      if (used_at[place(read)] == 0) take(read), changed.push_back(read);
    take(best);
    for (const int read : lines[place(best)].reads) {
      used_at[place(read)] = static_cast<int>(order.size());
      if (ties == Ties::recent || unread[place(read)] == 2) changed.push_back(read);
      if (--unread[place(read)] == 0) order.insert(order.end(), stores[place(read)].begin(), stores[place(read)].end());
    }
    for (const int read : changed)
      for (const int reader : readers[place(read)])
        if (ready.has(reader)) rank(reader);
    for (const int reader : readers[place(best)])
      if (--waits_for[place(reader)] == 0 && !is_store(lines[place(reader)])) rank(reader);
  }
  return order;
}

// The same from the last line to the first. A line may be taken once all lines that read it have been. The best is the
// one before which the fewest values are live.
std::vector<int> order_backwards(const Lines& lines) {
  const auto readers = find_readers(lines);
  std::vector<int> waits_for = sizes_of(readers), read_at(lines.size()), order;
  ReadyLines ready(lines.size());
  const auto rank = [&](int i) {
    const std::vector<int>& reads = lines[place(i)].reads;
    int gain = read_at[place(i)] > 0 ? 1 : 0, last = read_at[place(i)];
    for (const int read : reads) {
      gain -= read_at[place(read)] > 0 ? 0 : 1;
      last = std::max(last, read_at[place(read)]);
    }
    ready.set(i, {gain, last, i});
  };
  for (size_t i = 0; i < lines.size(); ++i)
    if (waits_for[i] == 0) rank(static_cast<int>(i));
  while (!ready.empty()) {
    const int best = ready.take();
    order.push_back(best);
    for (const int read : lines[place(best)].reads) read_at[place(read)] = static_cast<int>(order.size());
    for (const int read : lines[place(best)].reads) {
      for (const int reader : readers[place(read)])
        if (ready.has(reader)) rank(reader);
      if (--waits_for[place(read)] == 0) rank(read);
    }
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace

std::vector<int> order_lines(const Lines& lines) {
  std::vector<std::vector<int>> orders;
  for (const Ties ties : {Ties::first_line, Ties::recent})
    for (const bool reads_late : {false, true}) orders.push_back(order_forwards(lines, ties, reads_late));
  orders.push_back(order_backwards(lines));
  // The registers are those of AVX2, AVX-512 and a GPU, without a few for operands. A GPU's transfers cost most,
  // because what many threads store does not fit into its first cache.
  constexpr std::pair<int, int> kRegistersAndCosts[] = {{14, 1}, {30, 1}, {kGpuRegisters, 3}};
  const std::vector<int>* best = nullptr;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const std::vector<int>& order : orders) {
    int64_t sum = 0;
    for (const auto& [registers, cost] : kRegistersAndCosts) sum += cost * count_transfers(lines, order, registers);
    if (sum < least) least = sum, best = &order;
  }
  return *best;
}

int max_live_values(const Lines& lines, const std::vector<int>& order) {
  std::vector<int> unread = sizes_of(find_readers(lines));
  int live = 0, most = 0;
  for (const int i : order) {
    const Line& line = lines[place(i)];
    if (line.makes_value && unread[place(i)] > 0) live += 1;
    most = std::max(most, live);
    for (const int read : line.reads)
      if (--unread[place(read)] == 0) live -= 1;
  }
  return most;
}

int64_t count_transfers(const Lines& lines, const std::vector<int>& order, int registers) {
  constexpr int kNever = std::numeric_limits<int>::max();
  std::vector<std::vector<int>> uses(lines.size());  // the times of each value's uses that are left, the last one first
  for (int time = static_cast<int>(order.size()); time-- > 0;)
    for (const int read : lines[place(order[place(time)])].reads) uses[place(read)].push_back(time);
  std::vector<bool> is_stored(lines.size());
  std::set<std::pair<int, int>> held;  // the next use and the line of each value in a register
  const auto next_use = [&](int value) { return uses[place(value)].empty() ? kNever : uses[place(value)].back(); };
  int64_t transfers = 0;
  const auto hold = [&](int value) {
    if (static_cast<int>(held.size()) == registers) {
      const int freed = held.rbegin()->second;
      held.erase(*held.rbegin());
      if (!is_stored[place(freed)]) transfers += 1, is_stored[place(freed)] = true;
    }
    held.emplace(next_use(value), value);
  };
  for (const int i : order) {
    const Line& line = lines[place(i)];
    for (const int read : line.reads)
      if (!held.contains({next_use(read), read})) transfers += 1, hold(read);
    for (const int read : line.reads) {
      const bool is_held = held.erase({next_use(read), read}) > 0;
      uses[place(read)].pop_back();
      if (is_held && next_use(read) != kNever) held.emplace(next_use(read), read);
    }
    if (line.makes_value && next_use(i) != kNever) hold(i);
  }
  return transfers;
}

namespace {

// Returns the largest number of values that are live at the same time in the lines [begin, end) of an order, if these
// lines load what earlier ones have made, and if only they read.
int live_in_part(const Lines& lines, const std::vector<int>& order, size_t begin, size_t end) {
  std::vector<size_t> last(lines.size());  // the place of each value's last use in the part
  for (size_t k = begin; k < end; ++k)
    for (const int read : lines[place(order[k])].reads) last[place(read)] = k;
  std::set<int> live;
  size_t most = 0;
  for (size_t k = begin; k < end; ++k) {
    const Line& line = lines[place(order[k])];
    live.insert(line.reads.begin(), line.reads.end());
    if (line.makes_value && last[place(order[k])] > k) live.insert(order[k]);
    most = std::max(most, live.size());
    for (const int read : line.reads)
      if (last[place(read)] == k) live.erase(read);
  }
  return static_cast<int>(most);
}

// Returns for each place of an order, and its end, the number of values that earlier lines compute and later ones read.
std::vector<int> count_crossing(const Lines& lines, const std::vector<int>& order) {
  std::vector<int> unread = sizes_of(find_readers(lines)), crossing{0};
  for (const int i : order) {
    const Line& line = lines[place(i)];
    crossing.push_back(crossing.back() + (line.makes_value && !line.reads.empty() && unread[place(i)] > 0 ? 1 : 0));
    for (const int read : line.reads)
      if (--unread[place(read)] == 0 && !lines[place(read)].reads.empty()) crossing.back() -= 1;
  }
  return crossing;
}

}  // namespace

// A greedy algorithm: finds the longest part that fits, and ends it where the fewest values cross in its second half.
std::vector<size_t> cut_order(const Lines& lines, const std::vector<int>& order, int most) {
  const std::vector<int> crossing = count_crossing(lines, order);
  std::vector<size_t> begins{0};
  while (live_in_part(lines, order, begins.back(), order.size()) > most) {
    size_t fits = begins.back() + 1, fails = order.size();
    while (fails - fits > 1) {
      const size_t middle = (fits + fails) / 2;
      (live_in_part(lines, order, begins.back(), middle) > most ? fails : fits) = middle;
    }
    size_t best = fits;
    for (size_t k = fits; k > (begins.back() + fits) / 2; --k)
      if (crossing[k] <= crossing[best]) best = k;
    begins.push_back(best);
  }
  return begins;
}

}  // namespace drl::robot_compiler
