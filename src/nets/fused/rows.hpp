// Operations on rows for CPUs, apart from products: conversion to bfloat16, and sums along a row or a column.
// Rows are padded to whole registers.
#pragma once

#include <cstdint>

#include "nets/batch.hpp"
#include "nets/fused/products.hpp"

namespace drl {

// Converts rows 2 i and 2 i + 1 of x [rows, stride] to pairs of bfloat16. by_row [rows, stride / 2] gets pairs of
// neighbours in a row. by_column [rows / 2, stride] gets pairs of neighbours in a column, one from each of the two
// rows; a missing second row counts as zeros.
struct MakePairs {
  const float* x;
  int64_t rows, stride;
  float *by_row, *by_column;
  DRL_HD void operator()(int64_t i) const {
    using F = math::Floats;
    using Halves = Pack<uint16_t, kFloatLanes>;
    const bool both = 2 * i + 1 < rows;
    const float* from = x + 2 * i * stride;
    auto* to = reinterpret_cast<uint16_t*>(by_row) + 2 * i * stride;
    for (int64_t k = 0; k < stride; k += kFloatLanes) {
      const Bits<F> first = rounded_to_bf16(load<F>(from + k)),
                    second = both ? rounded_to_bf16(load<F>(from + stride + k)) : Bits<F>(0u);
      store(to + k, convert<Halves>(first >> 16));
      if (both) store(to + stride + k, convert<Halves>(second >> 16));
      store(by_column + i * stride + k, bit_cast<F>(first >> 16 | second));
    }
  }
};

inline namespace DRL_ISA {

// Returns the sum of the lanes of x, by adding its halves repeatedly.
template <int W>
DRL_HD float sum_of_lanes(Pack<float, W> x) {
  if constexpr (W == 2) {
    return lane(x, 0) + lane(x, 1);
  } else {
    Pack<float, W / 2> halves[2];
    __builtin_memcpy(halves, &x, sizeof(x));
    return sum_of_lanes(halves[0] + halves[1]);
  }
}
// Adds the upper half of 16 floats in N registers to the lower half, repeatedly, until the sums fit into one register.
template <int N>
DRL_HD math::Floats in_one_register(const math::Floats (&x)[N]) {
  if constexpr (N == 1) {
    return x[0];
  } else {
    math::Floats half[N / 2];
    for (int v = 0; v < N / 2; ++v) half[v] = x[v] + x[v + N / 2];
    return in_one_register(half);
  }
}

// Shuffle indices for two packs: in groups of 2 * Half lanes, `lower` selects the lower halves of both packs side by
// side, and `upper` the upper halves.
template <int Half, int W>
struct HalvesOf {
  alignas(64) int32_t lower[W] = {}, upper[W] = {};
  constexpr HalvesOf() {
    for (int l = 0; l < W; ++l) {
      lower[l] = l / Half % 2 == 0 ? l : W + l - Half;
      upper[l] = lower[l] + Half;
    }
  }
};
template <int Half, int W>
inline constexpr HalvesOf<Half, W> kHalvesOf{};
// Returns a pack whose lane r is sum_of_lanes(x[r]), for 2 * Half packs at once. Overwrites x.
template <int Half, int W>
DRL_HD Pack<float, W> sums_of_lanes(Pack<float, W>* x) {
  for (int r = 0; r < Half; ++r)
    x[r] = shuffle(x[r], x[r + Half], kHalvesOf<Half, W>.lower) + shuffle(x[r], x[r + Half], kHalvesOf<Half, W>.upper);
  if constexpr (Half > 1) return sums_of_lanes<Half / 2>(x);
  return x[0];
}

// Returns the sum along a padded row of `numbers` elements, in sixteen lanes whose halves are added repeatedly.
// next(sum, k) returns the sum with the terms of elements k, k + 1, ... added to its lanes.
template <class Next>
DRL_HD float sum_of_padded(int64_t numbers, const Next& next) {
  constexpr int n = kPadded / kFloatLanes;
  math::Floats sums[n];
  for (int v = 0; v < n; ++v) sums[v] = math::Floats(0);
  for (int64_t k = 0; k < numbers; k += kPadded)
    for (int v = 0; v < n; ++v) sums[v] = next(sums[v], k + v * kFloatLanes);
  return sum_of_lanes(in_one_register(sums));
}

}  // namespace DRL_ISA

// Returns the sum over rows. Row r is added to partial sum r % 4, and the four partial sums are then added. next(sum,
// row) returns the sum with the term of a row added.
template <class F, class Next>
DRL_HD F sum_of_rows(int64_t rows, const Next& next) {
  F sums[4] = {F(0), F(0), F(0), F(0)};
  for (int64_t row = 0; row < rows; row += 4)
    for (int64_t r = 0; r < 4; ++r)
      if (row + r < rows) sums[r] = next(sums[r], row + r);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Adds the sum of each column of x [rows, stride] to `out`.
struct AddColumns {
  const float* x;
  int64_t stride, rows;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t k) const {
    const F sum =
        sum_of_rows<F>(rows, [&](F so_far, int64_t row) DRL_LAMBDA { return so_far + load<F>(x + row * stride + k); });
    store(out + k, load<F>(out + k) + sum);
  }
};
// Adds the sum of each column of the elementwise product x y to `out`.
struct AddColumnsOfProducts {
  const float *x, *y;
  int64_t stride, rows;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t k) const {
    const F sum = sum_of_rows<F>(rows, [&](F so_far, int64_t row) DRL_LAMBDA {
      return so_far + load<F>(x + row * stride + k) * load<F>(y + row * stride + k);
    });
    store(out + k, load<F>(out + k) + sum);
  }
};
// Adds the sum of each column of x to `out`, where each row is multiplied by a factor.
struct AddColumnsOfScaled {
  const float *x, *scale;  // the factor of a row is scale[row * scale_stride]
  int64_t stride, scale_stride, rows;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t k) const {
    const F sum = sum_of_rows<F>(rows, [&](F so_far, int64_t row) DRL_LAMBDA {
      return math::fma(load<F>(x + row * stride + k), F(scale[row * scale_stride]), so_far);
    });
    store(out + k, load<F>(out + k) + sum);
  }
};

}  // namespace drl
