// Function objects of these tests.
#pragma once

#include "drl/lanes.hpp"
#include "drl/math.hpp"
#include "drl/philox.hpp"

namespace drl::test {

enum MathFunction : int { kSin, kCos, kExp, kLog, kTanh, kScaledCos, kFloor, kAbs, kSqrt, kMathFunctions };

// All of them at the numbers x [n].
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

// The words of counters index, index + 1, ...
struct RandomBits {
  uint64_t seed, index, step;
  int32_t* out;    // [4, n]
  float* uniform;  // [n], from the first of them
  int64_t n;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const auto words = random_bits<Bits<F>>(seed, Purpose::action, index + static_cast<uint64_t>(i), step, 5);
    for (int k = 0; k < 4; ++k) store(out + k * n + i, bit_cast<Int<F>>(words[k]));
    store(uniform + i, F(uniform01(words[0])));
  }
};

}  // namespace drl::test
