// Function objects whose loops the tests run.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/lanes/philox.hpp"
#include "drl/math.hpp"

namespace drl::test {

enum MathFunction : int {
  kSin,
  kCos,
  kExp,
  kLog,
  kTanh,
  kScaledCos,
  kFloor,
  kAbs,
  kSqrt,
  kMin,
  kMax,
  kClamp,
  kMathFunctions
};

// Computes all functions for x [n].
struct MathOf {
  const float* x;
  float* y;  // [kMathFunctions, n]
  int64_t n;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const F at = load<F>(x + i);
    store(y + kSin * n + i, math::sin(at));
    store(y + kCos * n + i, math::cos(at));
    store(y + kExp * n + i, math::exp(at));
    store(y + kLog * n + i, math::log(at));
    store(y + kTanh * n + i, math::tanh(at));
    store(y + kScaledCos * n + i, math::scaled_cos(0.0025, at));
    store(y + kFloor * n + i, math::floor(at));
    store(y + kAbs * n + i, math::abs(at));
    store(y + kSqrt * n + i, math::sqrt(at));
    store(y + kMin * n + i, math::min(at, F(0)));
    store(y + kMax * n + i, math::max(at, F(0)));
    store(y + kClamp * n + i, math::clamp(at, -2.5f, 0.5f));
  }
};

struct MultiplyAdd {
  const float *a, *b, *c;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(out + i, math::fma(load<F>(a + i), load<F>(b + i), load<F>(c + i)));
  }
};

// A Load with a constant number of columns: x [kColumns, rows]. SomeColumns is the same without the constant.
struct FewColumns {
  static constexpr int kColumns = 3;
  const float* x;
  int64_t rows;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    return convert<Wide<F>>(load<F>(x + column * rows + row));
  }
};
struct SomeColumns {
  FewColumns columns;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    return columns.at<F>(row, column);
  }
};

// Computes the random words of counters index, index + 1, ...
struct RandomBits {
  uint64_t seed, index, step;
  int32_t* out;    // [4, n]
  float* uniform;  // [n], from the first word
  int64_t n;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const auto words = random_bits<Bits<F>>(seed, Purpose::action, index + static_cast<uint64_t>(i), step, 5);
    for (int k = 0; k < 4; ++k) store(out + k * n + i, bit_cast<Int<F>>(words[k]));
    store(uniform + i, F(uniform01(words[0])));
  }
};

// Splits rows [n, K] into columns and stores these as rows again.
template <int K>
struct CopyRows {
  const float* from;
  float* to;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F columns[K];
    for (int k = 0; k < K; ++k) columns[k] = load_strided<F>(from + i * K + k, K);
    store_rows<K>(to + i * K, columns);
  }
};

struct Quotients {
  const int32_t* x;  // the bits of unsigned numbers
  uint32_t by;
  int32_t* out;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(out + i, bit_cast<Int<F>>(quotient(bit_cast<Bits<F>>(load<Int<F>>(x + i)), by)));
  }
};

// Tests masks, table lookups and loops of lanes, for numbers x > 0 [n].
struct LaneOperations {
  const int32_t* x;
  const float* table;
  int32_t bound;
  int32_t* bits;     // [n], the lane bits of the mask x > bound
  int32_t* steps;    // [n], the length of the Collatz sequence from x to 1
  uint8_t* flags;    // [n], the mask
  float* looked_up;  // [n], table[3 x]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const Int<F> number = load<Int<F>>(x + i);
    const Mask<F> larger = number > Int<F>(bound);
    for (int l = 0; l < kLanesOf<F>; ++l) bits[i + l] = static_cast<int32_t>(lane_bits(larger) >> l & 1);
    store(flags + i, larger);
    store(looked_up + i, gather<F>(table, number, 3));
    Int<F> left = number, count = Int<F>(0);
    while_any(left != Int<F>(1), [&](auto going) DRL_LAMBDA {
      const Int<F> half = left >> 1,
                   next = math::select((left & Int<F>(1)) == Int<F>(0), half, left * Int<F>(3) + Int<F>(1));
      left = math::select(going, next, left);
      count = math::select(going, count + Int<F>(1), count);
      return left != Int<F>(1);
    });
    store(steps + i, count);
  }
};

}  // namespace drl::test
