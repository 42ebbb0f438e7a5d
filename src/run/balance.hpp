// Detects that ranks wait too long for each other, and which rank is the slowest.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace drl {

class Balance {
 public:
  static constexpr int kIterations = 20, kSkipped = 10;

  // `hosts`: one per rank. Judges the run span by span; each span has at least kIterations iterations and lasts at
  // least `seconds`. Skips the first kSkipped iterations, which are slow because memory is touched for the first time
  // and CPU clocks rise.
  explicit Balance(std::vector<std::string> hosts, double seconds = 20);

  // Adds iteration `number`, which took `seconds`, of which rank r spent `waiting[r]` in all-reduces. When the ranks
  // have spent more than 30 % of a span in all-reduces, returns advice, which names the rank that the others wait for,
  // if there is one: once for each such rank, and once if there is none. Otherwise returns "".
  std::string iteration(int64_t number, double seconds, std::span<const double> waiting);

  // Facts about the rank that the last advice named; `rank` is -1 if it named none.
  struct SlowRank {
    int rank = -1;
    std::string host = "";
    int64_t since = 0;  // iteration
    double times = 1;   // how much longer than most others it computes
  };
  const SlowRank& slowest() const { return slowest_; }

 private:
  std::string advice();
  void begin_span();

  std::vector<std::string> hosts_;
  double span_seconds_;
  int skipped_ = 0;
  std::set<int> advised_;  // ranks that were named; -1: none was to be named
  SlowRank slowest_;
  int64_t first_ = 0, iterations_ = 0;  // of this span: its first iteration, and their number
  double seconds_ = 0;
  std::vector<double> waiting_;  // [ranks]
};

}  // namespace drl
