// Detects that ranks wait too long for each other, and which rank is the slowest.
#pragma once

#include <cstdint>
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

  // Adds an iteration that took `seconds`, of which rank r spent `waiting[r]` in all-reduces. Returns advice, once,
  // when the ranks have spent more than 30 % of a span in all-reduces; otherwise returns "".
  std::string iteration(double seconds, std::span<const double> waiting);

 private:
  std::string advice() const;
  void begin_span();

  std::vector<std::string> hosts_;
  double span_seconds_;
  int skipped_ = 0;
  bool has_advised_ = false;
  int64_t iterations_ = 0;  // in this span
  double seconds_ = 0;
  std::vector<double> waiting_;  // [ranks]
};

}  // namespace drl
