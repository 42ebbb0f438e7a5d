// What is done to rows of numbers beside products, as function objects of a CPU: to what lies between a network's
// layers, and sums along a row or a column. Rows lie on whole registers.
#pragma once

#include <cstdint>

#include "nets/batch.hpp"
#include "nets/fused/products.hpp"

namespace drl {

// Rows of `width` numbers from where they lie `from_stride` apart.
struct CopyRows {
  const float* from;
  float* to;
  int64_t width, from_stride, to_stride;
  DRL_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < width; ++k) to[row * to_stride + k] = from[row * from_stride + k];
  }
};

// Rows 2 i and 2 i + 1 of floats x [rows, stride] as pairs: of neighbours in a row [rows, stride / 2], and of the two
// rows [rows / 2, stride]. Beyond the last row there are zeros.
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

// x[0] + x[1] + ..., by halves.
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
// 16 numbers in several registers: their halves added until they fill one.
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

// Of groups of 2 Half lanes: the lower halves of those of two packs side by side, and the upper ones.
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
// Lane r of the result is sum_of_lanes(x[r]), of all 2 Half packs side by side.
template <int Half, int W>
DRL_HD Pack<float, W> sums_of_lanes(Pack<float, W>* x) {
  for (int r = 0; r < Half; ++r)
    x[r] = shuffle(x[r], x[r + Half], kHalvesOf<Half, W>.lower) + shuffle(x[r], x[r + Half], kHalvesOf<Half, W>.upper);
  if constexpr (Half > 1) return sums_of_lanes<Half / 2>(x);
  return x[0];
}

// The sum along a row of so many numbers, in sixteen lanes that are added up by halves: next(sum, k) adds what the
// numbers from k on bring.
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

// The sum over rows, of every fourth one and of these: next(sum, row) adds what a row brings.
template <class F, class Next>
DRL_HD F sum_of_rows(int64_t rows, const Next& next) {
  F sums[4] = {F(0), F(0), F(0), F(0)};
  for (int64_t row = 0; row < rows; row += 4)
    for (int64_t r = 0; r < 4; ++r)
      if (row + r < rows) sums[r] = next(sums[r], row + r);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Adds the sums of columns of x [rows, stride].
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
// The same of products x y.
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
// The same of x, each row times a number of its own.
struct AddColumnsOfScaled {
  const float *x, *scale;
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
