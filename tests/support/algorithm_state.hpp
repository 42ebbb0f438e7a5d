// Access to an algorithm's state and metrics by name.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/algorithm.hpp"
#include "all_state.hpp"

namespace drl::test {

using AlgorithmState = AllState;

inline double metric(const Algorithm& algorithm, std::string_view name) {
  for (const Metric& metric : algorithm.metrics())
    if (metric.name == name) return metric.value;
  throw std::out_of_range("no metric " + std::string(name));
}

}  // namespace drl::test
