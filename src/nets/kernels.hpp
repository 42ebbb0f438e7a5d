// What networks and normalisers do between matrix products, as function objects.
#pragma once

#include <cstdint>

#include "device/reduce.hpp"
#include "nets/activation.hpp"
#include "nets/nets.hpp"

namespace drl {

struct SetNumber {
  double* at;
  double value;
  DRL_HD void operator()(int64_t) const { *at = value; }
};

// Sums about `shift`, then sums of squares, of observations [rows, dim].
struct ObservationMoments {
  const float* obs;
  const double* shift;
  int dim;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    const int k = column % dim;
    const Wide<F> d = convert<Wide<F>>(load_strided<F>(obs + row * dim + k, dim)) - Wide<F>(shift[k]);
    return column < dim ? d : d * d;
  }
};

// A network's inputs out [count, inputs], number by number. 32-bit divisions are several times as fast on a GPU: a tile
// has fewer numbers than 2^32.
struct GatherInputs {
  Rows rows;
  uint32_t inputs;
  float* out;
  DRL_HD void operator()(int64_t i) const {
    const uint32_t row = static_cast<uint32_t>(i) / inputs, k = static_cast<uint32_t>(i) % inputs;
    out[i] = rows.normalizer(rows.data[(rows.index ? rows.index[row] : static_cast<int64_t>(row)) * inputs + k], k);
  }
};
// The same row by row, which suits a CPU.
struct GatherRows {
  GatherInputs numbers;
  DRL_HD void operator()(int64_t row) const {
    const Rows& rows = numbers.rows;
    const int64_t n = numbers.inputs;
    const float* from = rows.data + (rows.index ? rows.index[row] : row) * n;
    float* to = numbers.out + row * n;
    for (int64_t k = 0; k < n; ++k) to[k] = rows.normalizer(from[k], k);
  }
};

// x := f(x), and d := d f'(x) from y = f(x).
template <class A>
struct Activate {
  float* x;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(x + i, A::value(load<F>(x + i)));
  }
};
template <class A>
struct ActivateBackward {
  const float* y;
  float* d;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(d + i, A::backward(load<F>(d + i), load<F>(y + i)));
  }
};

}  // namespace drl
