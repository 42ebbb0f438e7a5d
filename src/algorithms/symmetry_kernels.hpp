// The kernels of mirrored samples.
#pragma once

#include <cstdint>

#include "drl/task/mirror.hpp"
#include "policy/noise.hpp"

namespace drl {

// Writes mirrored rows to out [count, width]. Row i is row index[i] of `from`, or row i if `index` is null.
struct MirrorRows {
  const float* from;
  const int32_t* index;
  const MirroredNumber* table;  // [width]
  int64_t width;
  float* out;
  DRL_HD void operator()(int64_t i) const {
    const float* row = from + (index ? index[i] : i) * width;
    for (int64_t k = 0; k < width; ++k) out[i * width + k] = table[k].sign * row[table[k].source];
  }
};
// Writes the mirrored choices of a discrete action.
struct MirrorChoices {
  const int32_t *from, *index;
  const MirroredNumber* table;  // [choices]
  int32_t* out;
  DRL_HD void operator()(int64_t i) const { out[i] = table[from[index[i]]].source; }
};

// The mean squared error of the outputs for mirrored observations, as compared with the mirrored outputs for the
// observations, which count as constants. Adds coef times its derivative to d_out, and its value to a column.
struct SymmetryLoss {
  const float *out, *target;  // [B, width]
  int width;
  float coef;
  bool adds;  // whether d_out already has a derivative
  float* d_out;
  int column;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    F sum = F(0);
    for (int k = 0; k < width; ++k) {
      const F error = load_column<F>(out, i, width, k) - load_column<F>(target, i, width, k);
      const F d = F(2 * coef / static_cast<float>(width)) * error;
      store_column(d_out, i, width, k, adds ? load_column<F>(d_out, i, width, k) + d : d);
      sum = sum + error * error;
    }
    sums.add(column, sum * F(1 / static_cast<float>(width)));
  }
};

}  // namespace drl
