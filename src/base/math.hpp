// Elementary functions with the same bits everywhere: in scalar code, in vectorised loops of any width, on every CPU
// and on the device. The float versions are branch-free polynomials of additions, multiplications and selects, so a
// loop over them vectorises; nothing may be contracted (-ffp-contract=off, nvcc -fmad=false). The double versions are
// the standard library's, for tests of exactness. NaN goes in, NaN comes out.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/hd.hpp"

namespace drl::math {

// Branch-free choice. Both sides are evaluated.
template <class F>
DRL_HD constexpr F select(bool condition, F yes, F no) {
  return condition ? yes : no;
}

template <class F>
DRL_HD constexpr F min(F a, F b) {
  return b < a ? b : a;
}

template <class F>
DRL_HD constexpr F max(F a, F b) {
  return a < b ? b : a;
}

template <class F>
DRL_HD constexpr F clamp(F x, F low, F high) {
  return x < low ? low : high < x ? high : x;
}

DRL_HD float abs(float x) { return __builtin_fabsf(x); }
DRL_HD float floor(float x) { return __builtin_floorf(x); }
DRL_HD float sqrt(float x) { return __builtin_sqrtf(x); }
DRL_HD double sqrt_double(double x) { return __builtin_sqrt(x); }  // the one double function of device code

namespace detail {

DRL_HD int32_t bits_of(float x) { return __builtin_bit_cast(int32_t, x); }
DRL_HD float float_of(int32_t bits) { return __builtin_bit_cast(float, bits); }

// x rounded to the nearest integer, as float and in the low bits of an int: adding 1.5 * 2^23 leaves no bits for a
// fraction. For |x| < 2^22.
struct Rounded {
  float value;
  int32_t bits;
};
DRL_HD Rounded round(float x) {
  const float shifted = x + 0x1.8p23f;
  return {shifted - 0x1.8p23f, bits_of(shifted)};
}

// sin (shift 0) or cos (shift 1) by quadrants: x = n pi/2 + r, |r| <= pi/4, with pi/2 in three parts (Cody and Waite)
// of which the first two have 8 and 12 bits, so that their products with n are exact. Minimax polynomials in r^2.
DRL_HD float sin_shifted(float x, int32_t shift) {
  const Rounded n = round(x * 0.636619772f);
  const float r = ((x - n.value * 1.5703125f) - n.value * 4.8387050628662109e-4f) + n.value * 4.37113883e-8f;
  const float z = r * r;
  const float sine = r + r * z * (-1.666665524e-1f + z * (8.332173340e-3f + z * -1.951657323e-4f));
  const float cosine = (1.0f - 0.5f * z) + z * z * (4.166664556e-2f + z * (-1.388736069e-3f + z * 2.443763697e-5f));
  const int32_t quadrant = n.bits + shift;
  const float magnitude = select((quadrant & 1) != 0, cosine, sine);
  const uint32_t sign = (static_cast<uint32_t>(quadrant) & 2u) << 30;
  return float_of(static_cast<int32_t>(static_cast<uint32_t>(bits_of(magnitude)) ^ sign));
}

}  // namespace detail

// For |x| <= 6000; absolute error below 1.2e-7.
DRL_HD float sin(float x) { return detail::sin_shifted(x, 0); }
DRL_HD float cos(float x) { return detail::sin_shifted(x, 1); }

// Relative error below 2e-7 where the result is a normal number; infinity above 88.73, 0 below -104.
DRL_HD float exp(float x) {
  const float clamped = clamp(x, -104.0f, 89.0f);
  const detail::Rounded n = detail::round(clamped * 1.44269504f);
  const float r = (clamped - n.value * 0.693115234375f) - n.value * 3.19461833e-5f;  // |r| <= ln(2)/2
  const float p = 0.5f + r * (1.666651815e-1f + r * (4.166620225e-2f + r * (8.368958719e-3f + r * 1.395061146e-3f)));
  const float mantissa = 1.0f + (r + r * r * p);
  // 2^n in two factors, because n may lie beyond the exponents of normal numbers. The shift drops the 1.5 * 2^23.
  const int32_t exponent = static_cast<int32_t>(static_cast<uint32_t>(n.bits) << 10) >> 10;
  const int32_t half = exponent >> 1, rest = exponent - half;
  const float scale1 = detail::float_of(static_cast<int32_t>(static_cast<uint32_t>(half + 127) << 23));
  const float scale2 = detail::float_of(static_cast<int32_t>(static_cast<uint32_t>(rest + 127) << 23));
  return mantissa * scale1 * scale2;
}

// Relative error below 2e-7 (near x = 1 too). -infinity at 0, NaN below.
DRL_HD float log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const uint32_t bits = static_cast<uint32_t>(detail::bits_of(select(subnormal, x * 0x1p23f, x)));
  // x = m 2^e with m in [sqrt(1/2), sqrt(2))
  const int32_t e = static_cast<int32_t>(bits - 0x3F3504F3u) >> 23;
  const float f = detail::float_of(static_cast<int32_t>(bits - (static_cast<uint32_t>(e) << 23))) - 1.0f;
  const float exponent = static_cast<float>(e) - select(subnormal, 23.0f, 0.0f);
  const float high = -1.666798592e-1f +
                     f * (1.421951503e-1f + f * (-1.240573749e-1f +
                                                 f * (1.188862696e-1f + f * (-1.167493984e-1f + f * 6.744652241e-2f))));
  const float p = 3.333331347e-1f + f * (-2.500000894e-1f + f * (2.000211924e-1f + f * high));
  const float tail = f * f * (f * p - 0.5f) + exponent * 3.19461833e-5f;
  const float finite = exponent * 0.693115234375f + (f + tail);
  const float at_zero = select(x == 0.0f, -__builtin_inff(), finite);
  const float below_zero = select(x < 0.0f, __builtin_nanf(""), at_zero);
  return select(x < __builtin_inff(), below_zero, x);  // infinity and NaN are their own logarithms
}

// Relative error below 4e-7. Beyond 9.02 the float nearest to tanh is 1.
DRL_HD float tanh(float x) {
  const float c = clamp(x, -9.02f, 9.02f), z = c * c;
  const float p = 1.308488101e-1f +
                  z * (3.104888601e-3f +
                       z * (1.116296153e-5f + z * (-2.025374535e-8f + z * (5.288159494e-11f + z * -8.506227406e-14f))));
  const float q = 4.641821086e-1f + z * (2.449899912e-2f + z * 2.547438198e-4f);
  return clamp((c + c * z * p) / (1.0f + z * q), -1.0f, 1.0f);
}

inline double abs(double x) { return std::abs(x); }
inline double floor(double x) { return std::floor(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }

// scale * cos(x), computed in double and rounded once: for tasks whose reference stores float but computes this in
// double. For |x| <= 1e6.
DRL_HD float scaled_cos(double scale, float x) {
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0.63661977236758134 + 0x1.8p52, n = shifted - 0x1.8p52;
  const double r = (wide - n * 1.5707963267341256) - n * 6.077100506506192e-11;  // pi/2 in 33 bits and the rest
  const double z = r * r;
  // Taylor: the first terms left out are r^17/17! and r^18/18! < 5e-17.
  const double sine =
      r *
      (1.0 -
       z / 6 * (1.0 - z / 20 * (1.0 - z / 42 * (1.0 - z / 72 * (1.0 - z / 110 * (1.0 - z / 156 * (1.0 - z / 210)))))));
  const double cosine =
      1.0 -
      z / 2 *
          (1.0 -
           z / 12 *
               (1.0 - z / 30 * (1.0 - z / 56 * (1.0 - z / 90 * (1.0 - z / 132 * (1.0 - z / 182 * (1.0 - z / 240)))))));
  const uint64_t quadrant = __builtin_bit_cast(uint64_t, shifted);
  const double magnitude = select((quadrant & 1) != 0, sine, cosine);
  const uint64_t sign = ((quadrant + 1) & 2) << 62;
  return static_cast<float>(scale * __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, magnitude) ^ sign));
}
inline double scaled_cos(double scale, double x) { return scale * std::cos(x); }

}  // namespace drl::math
