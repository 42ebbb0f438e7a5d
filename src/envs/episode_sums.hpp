#pragma once

#include <cstdint>

#include "drl/lanes/lanes.hpp"

namespace drl {

// Loads a column of the rows of EpisodeSums, for sum_columns().
struct LoadEpisodes {
  const double* sums;  // [rows, columns]
  int64_t columns;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    return load_strided<Wide<F>>(sums + row * columns + column, columns);
  }
};

}  // namespace drl
