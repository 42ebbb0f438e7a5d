// Elementary functions with bit-identical results everywhere: for one lane and for packs, on every CPU and on the GPU.
// The float versions are branch-free polynomials of additions, multiplications and selects, and must be compiled
// without contraction (-ffp-contract=off, nvcc -fmad=false). The double versions are those of the standard library;
// robots on libmujoco use them, and tests use them as a reference. A NaN argument gives NaN, except as the second
// argument of min or max, or as atan2's y.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "drl/lanes/hd.hpp"
#include "drl/lanes/lanes.hpp"

namespace drl::math {

#if !defined(DRL_GPU_COMPILER)
inline namespace DRL_ISA {

// Versions for packs that use the processor's instruction. min and max treat NaN and zeros like the generic ones below.
using Floats = Pack<float, kFloatLanes>;
DRL_HD Floats abs(Floats x) { return bit_cast<Floats>(bit_cast<Bits<Floats>>(x) & 0x7FFFFFFFu); }
#if defined(__SSE4_1__)
#if defined(__AVX512F__)
#define DRL_OF_FLOATS(operation) _mm512_##operation##_ps
#elif defined(__AVX2__)
#define DRL_OF_FLOATS(operation) _mm256_##operation##_ps
#else
#define DRL_OF_FLOATS(operation) _mm_##operation##_ps
#endif
DRL_HD Floats min(Floats a, Floats b) { return Floats::of(DRL_OF_FLOATS(min)(b.v, a.v)); }
DRL_HD Floats max(Floats a, Floats b) { return Floats::of(DRL_OF_FLOATS(max)(b.v, a.v)); }
DRL_HD Floats floor(Floats x) { return Floats::of(DRL_OF_FLOATS(floor)(x.v)); }
DRL_HD Floats sqrt(Floats x) { return Floats::of(DRL_OF_FLOATS(sqrt)(x.v)); }
#else
DRL_HD Floats floor(Floats x) {
  for (int l = 0; l < kFloatLanes; ++l) x.v[l] = __builtin_floorf(x.v[l]);
  return x;
}
DRL_HD Floats sqrt(Floats x) {
  for (int l = 0; l < kFloatLanes; ++l) x.v[l] = __builtin_sqrtf(x.v[l]);
  return x;
}
#endif
DRL_HD Floats fma(Floats a, Floats b, Floats c) {
#if defined(DRL_OF_FLOATS) && defined(__FMA__)
  return Floats::of(DRL_OF_FLOATS(fmadd)(a.v, b.v, c.v));
#elif defined(__ARM_NEON)
  return Floats::of(vfmaq_f32(c.v, a.v, b.v));
#else
  return a * b + c;
#endif
}
#undef DRL_OF_FLOATS

}  // namespace DRL_ISA
#endif

template <class F>
DRL_HD constexpr F min(F a, std::type_identity_t<F> b) {
  return select(b < a, b, a);
}
template <class F>
DRL_HD constexpr F max(F a, std::type_identity_t<F> b) {
  return select(a < b, b, a);
}
template <class F>
DRL_HD constexpr F clamp(F x, std::type_identity_t<F> low, std::type_identity_t<F> high) {
  return min(max(x, low), high);
}

DRL_HD float abs(float x) { return __builtin_fabsf(x); }
DRL_HD float floor(float x) { return __builtin_floorf(x); }
DRL_HD float sqrt(float x) { return __builtin_sqrtf(x); }
DRL_HD double sqrt_double(double x) { return __builtin_sqrt(x); }
// Returns a * b + c, rounded once if the instruction set has such an instruction. x86-64-v2 has none, so that its last
// bits may differ.
DRL_HD float fma(float a, float b, float c) {
#if defined(DRL_GPU_CODE) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

namespace detail {

// x rounded to the nearest integer, as a float and in the low bits of an integer: adding 1.5 * 2^23 leaves no bits for
// a fraction. Requires |x| < 2^22.
template <class F>
struct Rounded {
  F value;
  Bits<F> bits;
};
template <class F>
DRL_HD Rounded<F> round(F x) {
  const F shifted = x + F(0x1.8p23f);
  return {shifted - F(0x1.8p23f), bit_cast<Bits<F>>(shifted)};
}

// Returns sin(x) (shift 0) or cos(x) (shift 1). Reduces x by quadrants: x = n pi/2 + r, |r| <= pi/4. pi/2 is split into
// three parts (Cody and Waite), of which the first two have 8 and 12 bits, so that their products with n are exact.
// Evaluates minimax polynomials in r^2.
template <class F>
DRL_HD F sin_shifted(F x, uint32_t shift) {
  const Rounded<F> n = round(x * 0.636619772f);
  const F r = ((x - n.value * 1.5703125f) - n.value * 4.8387050628662109e-4f) + n.value * 4.37113883e-8f;
  const F z = r * r;
  const F sine = r + r * z * (-1.666665524e-1f + z * (8.332173340e-3f + z * -1.951657323e-4f));
  const F cosine = (1.0f - 0.5f * z) + z * z * (4.166664556e-2f + z * (-1.388736069e-3f + z * 2.443763697e-5f));
  const Bits<F> quadrant = n.bits + shift;
  const F magnitude = select((quadrant & 1u) != 0u, cosine, sine);
  return bit_cast<F>(bit_cast<Bits<F>>(magnitude) ^ ((quadrant & 2u) << 30));
}

// Returns 2^n for -126 <= n <= 127.
template <class F>
DRL_HD F power_of_two(Int<F> n) {
  return bit_cast<F>((n + 127) << 23);
}

}  // namespace detail

// sin and cos for |x| <= 6000. The absolute error is below 1.2e-7.
template <class F>
DRL_HD F sin(F x) {
  return detail::sin_shifted(x, 0);
}
template <class F>
DRL_HD F cos(F x) {
  return detail::sin_shifted(x, 1);
}

// The relative error is below 2e-7 if the result is a normal number. Returns infinity above 88.73 and 0 below -104.
template <class F>
DRL_HD F exp(F x) {
  const F clamped = clamp(x, -104.0f, 89.0f);
  const detail::Rounded<F> n = detail::round(clamped * 1.44269504f);
  const F r = (clamped - n.value * 0.693115234375f) - n.value * 3.19461833e-5f;  // |r| <= ln(2)/2
  const F p = 0.5f + r * (1.666651815e-1f + r * (4.166620225e-2f + r * (8.368958719e-3f + r * 1.395061146e-3f)));
  const F mantissa = 1.0f + (r + r * r * p);
  // 2^n in two factors, because n may lie beyond the exponents of normal numbers. The shift drops the 1.5 * 2^23.
  const Int<F> exponent = bit_cast<Int<F>>(n.bits << 10) >> 10;
  const Int<F> half = exponent >> 1;
  return mantissa * detail::power_of_two<F>(half) * detail::power_of_two<F>(exponent - half);
}

// The relative error is below 2e-7, also near x = 1. Returns -infinity for 0 and NaN for negative numbers.
template <class F>
DRL_HD F log(F x) {
  const Mask<F> subnormal = x < F(0x1p-126f);
  const Bits<F> bits = bit_cast<Bits<F>>(select(subnormal, x * 0x1p23f, x));
  // x = m 2^e with m in [sqrt(1/2), sqrt(2))
  const Int<F> e = bit_cast<Int<F>>(bits - 0x3F3504F3u) >> 23;
  const F f = bit_cast<F>(bits - (bit_cast<Bits<F>>(e) << 23)) - 1.0f;
  const F exponent = convert<F>(e) - select(subnormal, F(23), F(0));
  const F high = -1.666798592e-1f +
                 f * (1.421951503e-1f +
                      f * (-1.240573749e-1f + f * (1.188862696e-1f + f * (-1.167493984e-1f + f * 6.744652241e-2f))));
  const F p = 3.333331347e-1f + f * (-2.500000894e-1f + f * (2.000211924e-1f + f * high));
  const F tail = f * f * (f * p - 0.5f) + exponent * 3.19461833e-5f;
  const F finite = exponent * 0.693115234375f + (f + tail);
  const F at_zero = select(x == F(0), F(-__builtin_inff()), finite);
  const F below_zero = select(x < F(0), F(__builtin_nanf("")), at_zero);
  return select(x < F(__builtin_inff()), below_zero, x);  // infinity and NaN are their own logarithms
}

// Returns the angle between (x, y) and the x axis, in [-pi, pi], or 0 if both are 0. The absolute error is below 4e-7.
// Uses a minimax polynomial up to tan(pi/8), and beyond it the same one for the angle minus pi/4.
template <class F>
DRL_HD F atan2(F y, F x) {
  const F along = abs(x), across = abs(y);
  const F slope = min(along, across) / max(max(along, across), F(0x1p-126f));
  const Mask<F> steep = slope > F(0.414213562f);
  const F r = select(steep, (slope - 1.0f) / (slope + 1.0f), slope), z = r * r;
  const F p = r + r * z * (-3.333294915e-1f + z * (1.997771065e-1f + z * (-1.387768560e-1f + z * 8.053744495e-2f)));
  const F eighth = select(steep, p + 0.785398163f, p);
  const F quarter = select(across > along, 1.570796327f - eighth, eighth);
  const F half = select(x < F(0), 3.141592654f - quarter, quarter);
  return select(y < F(0), -half, half);
}

// The relative error is below 4e-7. Beyond 9.02, the float nearest to tanh is 1.
template <class F>
DRL_HD F tanh(F x) {
  const F c = clamp(x, -9.02f, 9.02f), z = c * c;
  const F p = 1.308488101e-1f +
              z * (3.104888601e-3f +
                   z * (1.116296153e-5f + z * (-2.025374535e-8f + z * (5.288159494e-11f + z * -8.506227406e-14f))));
  const F q = 4.641821086e-1f + z * (2.449899912e-2f + z * 2.547438198e-4f);
  return clamp((c + c * z * p) / (1.0f + z * q), -1.0f, 1.0f);
}

DRL_HD double abs(double x) { return __builtin_fabs(x); }
DRL_HD double sqrt(double x) { return sqrt_double(x); }
DRL_HD double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
// Device code cannot call these; it has those of math::wide.
inline double floor(double x) { return std::floor(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double atan2(double y, double x) { return std::atan2(y, x); }

#if !defined(DRL_GPU_COMPILER)
// Versions for packs of doubles, lane by lane.
#define DRL_OF_DOUBLES(function)                                                \
  template <int W>                                                              \
  DRL_HD Pack<double, W> function(Pack<double, W> x) {                          \
    for (int l = 0; l < W; ++l) x.v[l] = function(static_cast<double>(x.v[l])); \
    return x;                                                                   \
  }
DRL_OF_DOUBLES(sqrt)
DRL_OF_DOUBLES(sin)
DRL_OF_DOUBLES(cos)
#undef DRL_OF_DOUBLES
template <int W>
DRL_HD Pack<double, W> fma(Pack<double, W> a, Pack<double, W> b, Pack<double, W> c) {
  for (int l = 0; l < W; ++l)
    c.v[l] = fma(static_cast<double>(a.v[l]), static_cast<double>(b.v[l]), static_cast<double>(c.v[l]));
  return c;
}
template <int W>
DRL_HD Pack<double, W> abs(Pack<double, W> x) {
  using U = Pack<uint64_t, W>;
  return bit_cast<Pack<double, W>>(bit_cast<U>(x) & U(~uint64_t{0} >> 1));
}

inline namespace DRL_ISA {

// Versions for a register of doubles that use the processor's instruction, with the same results.
using Doubles = Pack<double, kFloatLanes / 2>;
#if defined(__SSE4_1__)
#if defined(__AVX512F__)
#define DRL_OF_DOUBLES(operation) _mm512_##operation##_pd
#elif defined(__AVX2__)
#define DRL_OF_DOUBLES(operation) _mm256_##operation##_pd
#else
#define DRL_OF_DOUBLES(operation) _mm_##operation##_pd
#endif
DRL_HD Doubles min(Doubles a, Doubles b) { return Doubles::of(DRL_OF_DOUBLES(min)(b.v, a.v)); }
DRL_HD Doubles max(Doubles a, Doubles b) { return Doubles::of(DRL_OF_DOUBLES(max)(b.v, a.v)); }
DRL_HD Doubles sqrt(Doubles x) { return Doubles::of(DRL_OF_DOUBLES(sqrt)(x.v)); }
#endif
#if defined(__SSE4_1__) && defined(__FMA__)
DRL_HD Doubles fma(Doubles a, Doubles b, Doubles c) { return Doubles::of(DRL_OF_DOUBLES(fmadd)(a.v, b.v, c.v)); }
#elif defined(__ARM_NEON)
DRL_HD Doubles fma(Doubles a, Doubles b, Doubles c) { return Doubles::of(vfmaq_f64(c.v, a.v, b.v)); }
#endif
#undef DRL_OF_DOUBLES

}  // namespace DRL_ISA
#endif

// Returns scale * cos(x), computed in double and rounded once, for tasks whose reference implementation stores floats
// but computes this term in double. Requires |x| <= 1e6. D holds doubles, U holds integers of the same size.
//
// With x = (k + 1/2) pi + r and |r| <= pi/2, cos(x) = -(-1)^k sin(r). sin(r) is a Taylor polynomial; the first omitted
// term is below 2e-18. There is no division, since dividing one register takes longer than the polynomial.
template <class D, class U>
DRL_HD D scaled_cos_wide(double scale, D x) {
  const D shifted = (x * 0.31830988618379067 - 0.5) + D(0x1.8p52), n = (shifted - D(0x1.8p52)) + 0.5;
  const D r = (x - n * 3.1415926534682512) - n * 1.2154201013012384e-10;  // pi in 33 bits and the rest
  const D z = r * r;
  constexpr double terms[] = {-1.0 / 121645100408832000,
                              1.0 / 355687428096000,
                              -1.0 / 1307674368000,
                              1.0 / 6227020800,
                              -1.0 / 39916800,
                              1.0 / 362880,
                              -1.0 / 5040,
                              1.0 / 120,
                              -1.0 / 6,
                              1.0};
  D sine(1.0 / 51090942171709440000.0);  // 1/21!
  for (const double term : terms) sine = sine * z + term;
  const U k = bit_cast<U>(shifted);
  return D(scale) * bit_cast<D>(bit_cast<U>(r * sine) ^ (((k + U(1)) & U(1)) << 63));
}
DRL_HD float scaled_cos(double scale, float x) {
  return static_cast<float>(scaled_cos_wide<double, uint64_t>(scale, static_cast<double>(x)));
}
inline double scaled_cos(double scale, double x) { return scale * std::cos(x); }
#if !defined(DRL_GPU_COMPILER)
template <int W>
DRL_HD Pack<float, W> scaled_cos(double scale, Pack<float, W> x) {
  return convert<Pack<float, W>>(
      scaled_cos_wide<Pack<double, W>, Pack<uint64_t, W>>(scale, convert<Pack<double, W>>(x)));
}
#endif

// Functions for computations that need more precision than float. In double, they are vectorised, and bit-identical for
// single numbers and packs. In float, they are those above.
namespace wide {

using math::abs, math::max, math::min, math::select, math::sqrt;
DRL_HD float fma(float a, float b, float c) { return math::fma(a, b, c); }
DRL_HD double fma(double a, double b, double c) {
#if defined(DRL_GPU_CODE) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
DRL_HD float sin(float x) { return math::sin(x); }
DRL_HD float cos(float x) { return math::cos(x); }

#if !defined(DRL_GPU_COMPILER)
template <int W>
DRL_HD Pack<float, W> fma(Pack<float, W> a, Pack<float, W> b, Pack<float, W> c) {
  return math::fma(a, b, c);
}
template <int W>
DRL_HD Pack<double, W> fma(Pack<double, W> a, Pack<double, W> b, Pack<double, W> c) {
#if defined(__FMA__) || defined(__ARM_NEON)
  return math::fma(a, b, c);
#else
  return a * b + c;
#endif
}
template <int W>
DRL_HD Pack<float, W> sin(Pack<float, W> x) {
  return math::sin(x);
}
template <int W>
DRL_HD Pack<float, W> cos(Pack<float, W> x) {
  return math::cos(x);
}
#endif

// Returns sin(x) (shift 0) or cos(x) (shift 1), by quadrants as above, with pi/2 split into 33 bits and the rest. Uses
// the polynomials of FreeBSD's k_sin.c and k_cos.c. The error is below 2e-16 for |x| <= 1e5.
template <class D, class U>
DRL_HD D sin_shifted(D x, uint64_t shift) {
  const D shifted = fma(x, D(0.63661977236758138), D(0x1.8p52)), n = shifted - D(0x1.8p52);
  const D r = fma(-n, D(6.0771005065061922e-11), fma(-n, D(1.5707963267341256), x)), z = r * r;
  constexpr double of_sine[] = {-2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                8.33333333332248946124e-03, -1.66666666666666324348e-01};
  constexpr double of_cosine[] = {2.08757232129817482790e-09,
                                  -2.75573143513906633035e-07,
                                  2.48015872894767294178e-05,
                                  -1.38888888888741095749e-03,
                                  4.16666666666666019037e-02,
                                  -0.5,
                                  1.0};
  D sine(1.58969099521155010221e-10), cosine(-1.13596475577881948265e-11);
  for (const double term : of_sine) sine = fma(sine, z, D(term));
  for (const double term : of_cosine) cosine = fma(cosine, z, D(term));
  const U quadrant = bit_cast<U>(shifted) + U(shift);
  const D magnitude = select((quadrant & U(1)) != U(0), cosine, fma(r * z, sine, r));
  return bit_cast<D>(bit_cast<U>(magnitude) ^ ((quadrant & U(2)) << 62));
}
DRL_HD double sin(double x) { return sin_shifted<double, uint64_t>(x, 0); }
DRL_HD double cos(double x) { return sin_shifted<double, uint64_t>(x, 1); }
#if !defined(DRL_GPU_COMPILER)
template <int W>
DRL_HD Pack<double, W> sin(Pack<double, W> x) {
  return sin_shifted<Pack<double, W>, Pack<uint64_t, W>>(x, 0);
}
template <int W>
DRL_HD Pack<double, W> cos(Pack<double, W> x) {
  return sin_shifted<Pack<double, W>, Pack<uint64_t, W>>(x, 1);
}
#endif

}  // namespace wide

}  // namespace drl::math
