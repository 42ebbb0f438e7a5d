// Do the ranks wait for each other too much, and for which one?
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace drl {

class Balance {
 public:
  static constexpr int kIterations = 20, kSkipped = 10;

  // `hosts`: one a rank. Judges spans of at least `seconds` and kIterations, after the first kSkipped iterations, in
  // which memory is first touched and CPU clocks rise.
  explicit Balance(std::vector<std::string> hosts, double seconds = 20);

  // An iteration of `seconds`, of which rank r spent `waiting[r]` in all-reduces. The advice, once, when that was more
  // than 30 % of the ranks' time over a span; otherwise "". One rank never waits.
  std::string iteration(double seconds, std::span<const double> waiting);

 private:
  std::string advice() const;
  void begin_span();

  std::vector<std::string> hosts_;
  double span_seconds_;
  int skipped_ = 0;
  bool said_ = false;
  int64_t iterations_ = 0;  // of the span
  double seconds_ = 0;
  std::vector<double> waiting_;  // [ranks]
};

}  // namespace drl
