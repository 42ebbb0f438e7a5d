// The numbers of one iteration, reduced over all ranks, as every report shows them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/metric.hpp"

namespace drl {

struct IterationMetrics {
  int64_t iteration = 0;             // finished iterations; the first reports 1
  int64_t max_iterations = 0;        // absolute target
  int64_t env_steps = 0;             // over all ranks, since the run began
  std::vector<Metric> metrics = {};  // the others, always the same ones, in the order of metrics.csv

  // NaN if there is none of that name.
  double value(std::string_view name) const {
    const auto found = std::ranges::find(metrics, name, &Metric::name);
    return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->value;
  }
};

}  // namespace drl
