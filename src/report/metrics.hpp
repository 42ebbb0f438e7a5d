// The metrics of one iteration, reduced over all ranks, for the console, metrics.csv and TensorBoard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/metric.hpp"

namespace drl {

struct IterationMetrics {
  int64_t iteration = 0;             // finished iterations, 1 after the first
  int64_t max_iterations = 0;        // target, counted from the start of the run
  int64_t env_steps = 0;             // over all ranks, since the start of the run
  std::vector<Metric> metrics = {};  // the same metrics in every iteration, in the order of metrics.csv

  // Returns the metric's value, NaN if no metric has that name.
  double value(std::string_view name) const {
    const auto found = std::ranges::find(metrics, name, &Metric::name);
    return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->value;
  }
};

}  // namespace drl
