// Lanes: code that is written for one environment (or sample) computes W of them side by side. Functions are generic in
// F, which is Pack<float, W> in a CPU's vector registers, float on a GPU and for the remainder of a range, and double
// for robots on libmujoco and in tests that need an exact reference. Such code is branch-free: it uses select instead
// of if, and while_any where lanes need different numbers of iterations.
//
// A unit that uses packs is compiled once per instruction set (drl_hot_sources in cmake/DrlRooms.cmake). Each time,
// DRL_ISA is the name of another namespace, so that the linker keeps the functions apart.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "drl/lanes/hd.hpp"

#if !defined(DRL_GPU_COMPILER)
#if defined(__SSE__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#endif

#ifndef DRL_ISA
#define DRL_ISA baseline
#endif

namespace drl {

// --- One lane ---

template <class F>
struct LaneTraits {
  static constexpr int width = 1;
  using Scalar = F;
  using Mask = bool;
  using Int = int32_t;
  using Bits = uint32_t;
  using Wide = double;
  using HalfWide = double;
};

template <class F>
inline constexpr int kLanesOf = LaneTraits<F>::width;
template <class F>
using Scalar = typename LaneTraits<F>::Scalar;  // the number in a lane
template <class F>
using Mask = typename LaneTraits<F>::Mask;  // true or false in each lane
template <class F>
using Int = typename LaneTraits<F>::Int;  // an int32_t in each lane
template <class F>
using Bits = typename LaneTraits<F>::Bits;  // a uint32_t in each lane
template <class F>
using Wide = typename LaneTraits<F>::Wide;  // a double in each lane
template <class F>
using HalfWide = typename LaneTraits<F>::HalfWide;  // doubles for half of the lanes, which fill one register

// Returns a mask as bits: bit l is lane l.
DRL_HD uint32_t lane_bits(bool mask) { return mask ? 1 : 0; }
// Returns whether any lane is true.
template <class M>
DRL_HD bool any(M mask) {
  return lane_bits(mask) != 0;
}
// Returns whether all lanes are finite, that is, neither infinite nor NaN.
DRL_HD bool all_finite(float x) { return x - x == 0; }
DRL_HD bool all_finite(double x) { return x - x == 0; }
// Returns the index of the lowest bit that is set; bits must not be 0.
DRL_HD int lowest_bit(uint32_t bits) {
#if defined(DRL_GPU_CODE)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return __builtin_ctz(bits);
#endif
}
// Returns how many bits are set.
DRL_HD int count_bits(uint32_t bits) {
#if defined(DRL_GPU_CODE)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}
DRL_HD int lowest_bit_of_64(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  return low != 0 ? lowest_bit(low) : 32 + lowest_bit(static_cast<uint32_t>(bits >> 32));
}
// Returns the value of lane l.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
DRL_HD T lane(T x, int) {
  return x;
}

// Returns the numbers of all lanes, next to each other, to read or change some of them.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
DRL_HD T* numbers_of(T& x) {
  return &x;
}

// wide_half returns half of the lanes, from lane `first` on, in double. set_half rounds doubles into these lanes.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
DRL_HD double wide_half(T x, int) {
  return static_cast<double>(x);
}
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
DRL_HD void set_half(T& x, int, double half) {
  x = static_cast<T>(half);
}

// Loads and stores consecutive numbers of an array, one per lane of F, Int<F> or Bits<F>.
template <class V, class T>
DRL_HD V load(const T* from) {
  if constexpr (std::is_arithmetic_v<V>) {
    return static_cast<V>(*from);
  } else {
    return V::load(from);
  }
}
template <class T, class V, class = std::enable_if_t<std::is_arithmetic_v<V>>>
DRL_HD void store(T* to, V x) {
  *to = static_cast<T>(x);
}

// Loads from[0], from[stride], ...
template <class V, class T>
DRL_HD V load_strided(const T* from, int64_t stride) {
  if constexpr (std::is_arithmetic_v<V>) {
    return static_cast<V>(*from);
  } else {
    return V::load_strided(from, stride);
  }
}
// Loads from[index * stride], with each lane's own index.
template <class V, class T>
DRL_HD V gather(const T* from, Int<V> index, int64_t stride = 1) {
  if constexpr (std::is_arithmetic_v<V>) {
    return static_cast<V>(from[index * stride]);
  } else {
    return V::gather(from, index, stride);
  }
}
// Loads from[index] and from[index + 1], with each lane's own index.
template <class V, class T>
DRL_HD void gather_two(const T* from, Int<V> index, V& first, V& second) {
  if constexpr (std::is_arithmetic_v<V>) {
    first = static_cast<V>(from[index]), second = static_cast<V>(from[index + 1]);
  } else {
    V::gather_two(from, index, first, second);
  }
}
template <class V, class T>
DRL_HD void store_strided(T* to, int64_t stride, const V& x) {
  if constexpr (std::is_arithmetic_v<V>) {
    *to = static_cast<T>(x);
  } else {
    x.store_strided(to, stride);
  }
}

// Stores the numbers x [K] as one row out [K]. Packs store W rows (below).
template <int K, class T, class F, class = std::enable_if_t<std::is_arithmetic_v<F>>>
DRL_HD void store_rows(T* out, const F* x) {
  DRL_ROLLED_IF_LONG(K)
  for (int k = 0; k < K; ++k) out[k] = static_cast<T>(x[k]);
}

template <class T, class F, class = std::enable_if_t<std::is_arithmetic_v<F>>>
DRL_HD void store_rows(T* out, const F* x, int size) {
  for (int k = 0; k < size; ++k) out[k] = static_cast<T>(x[k]);
}

// Returns the lane numbers 0, 1, 2, ...
template <class V>
DRL_HD constexpr V lane_numbers() {
  if constexpr (std::is_arithmetic_v<V>) {
    return V(0);
  } else {
    return V::numbers();
  }
}

namespace math {

// Returns yes where the condition is true, else no. Both are evaluated.
template <class F, class = std::enable_if_t<std::is_arithmetic_v<F>>>
DRL_HD constexpr F select(bool condition, F yes, F no) {
  return condition ? yes : no;
}

}  // namespace math

#if !defined(DRL_GPU_COMPILER)

inline namespace DRL_ISA {

// The number of floats in a register of this unit's instruction set.
#if defined(__AVX512F__)
inline constexpr int kFloatLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kFloatLanes = 8;
#else
inline constexpr int kFloatLanes = 4;
#endif

// The result of a comparison. True lanes have all bits set; lanes are as wide as the numbers that were compared.
template <class T, int W>
struct PackMask {
  static_assert(std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>);
  typedef T Vector __attribute__((vector_size(W * sizeof(T))));
  Vector v;

  DRL_HD friend PackMask operator&(PackMask a, PackMask b) { return {a.v & b.v}; }
  DRL_HD friend PackMask operator|(PackMask a, PackMask b) { return {a.v | b.v}; }
  DRL_HD friend PackMask operator!(PackMask a) { return {~a.v}; }
  template <std::same_as<bool> Bool>
  explicit operator Bool() const {
    static_assert(!std::is_same_v<Bool, Bool>,
                  "a condition differs between lanes, so `if`, `?:`, `&&` and `||` cannot test it: write "
                  "math::select(condition, yes, no), and combine conditions by & and |");
    return false;
  }
  DRL_HD friend uint32_t lane_bits(PackMask m) {
#if defined(__AVX512F__)
    if constexpr (W == 16 && sizeof(T) == 4)
      return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(m.v), reinterpret_cast<__m512i>(m.v));
    if constexpr (W == 8 && sizeof(T) == 8)
      return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(m.v), reinterpret_cast<__m512i>(m.v));
#endif
#if defined(__AVX__)
    if constexpr (W == 8 && sizeof(T) == 4)
      return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(m.v)));
    if constexpr (W == 4 && sizeof(T) == 8)
      return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(m.v)));
#endif
    uint32_t bits = 0;
    for (int l = 0; l < W; ++l) bits |= (static_cast<uint32_t>(m.v[l]) & 1u) << l;
    return bits;
  }
  // Stores true as 1 and false as 0.
  DRL_HD friend void store(uint8_t* to, PackMask m) {
#if defined(__AVX__) && !defined(__AVX512F__)
    // Spreads the bits of eight lanes to bytes. There is no instruction for this, and compilers would go lane by lane.
    if constexpr (W % 8 == 0 && sizeof(T) == 4) {
      const uint32_t bits = lane_bits(m);
      for (int l = 0; l < W; l += 8) {
        const uint64_t spread = (bits >> l & 0xff) * 0x0101010101010101ull & 0x8040201008040201ull;
        const uint64_t bytes = (spread + 0x7f7f7f7f7f7f7f7full) >> 7 & 0x0101010101010101ull;
        __builtin_memcpy(to + l, &bytes, 8);
      }
      return;
    }
#endif
    typedef uint8_t Bytes __attribute__((vector_size(W)));
    const Bytes bytes = __builtin_convertvector(m.v ? Vector{} + 1 : Vector{}, Bytes);
    __builtin_memcpy(to, &bytes, W);
  }
};

// True for a double in code that computes in float.
template <class X, class T>
concept RoundedTo = std::is_same_v<X, double> && std::is_same_v<T, float>;

// Shuffle indices of the numbers with even indices of two packs, and of those with odd indices.
template <int W>
struct EverySecond {
  alignas(64) int32_t from[2][W] = {};
  constexpr EverySecond() {
    for (int e = 0; e < 2; ++e)
      for (int l = 0; l < W; ++l) from[e][l] = 2 * l + e;
  }
};
template <int W>
inline constexpr EverySecond<W> kEverySecond{};

// W numbers of type T (float, double, int32_t, uint32_t, uint64_t).
template <class T, int W>
struct Pack {
  typedef T Vector __attribute__((vector_size(W * sizeof(T))));
  using Mask = PackMask<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>, W>;
  Vector v;

  Pack() = default;
  DRL_HD Pack(T x) : v(x - Vector{}) {}  // in every lane
  // F(0.5) selects the first of these two constructors, because its constraint is stronger. A plain 0.5, as in x * 0.5,
  // can only select the second one, which is not explicit.
  template <class X>
  requires RoundedTo<X, T> && std::is_arithmetic_v<X> DRL_HD explicit Pack(X x) : Pack(static_cast<T>(x)) {}
  template <RoundedTo<T> X>
  Pack(X) {
    static_assert(!std::is_same_v<X, X>, "write a constant as F(0.5) instead of 0.5, since drl computes in F");
  }
  DRL_HD static Pack of(Vector x) {
    Pack pack;
    pack.v = x;
    return pack;
  }

  template <class From>
  DRL_HD static Pack load(const From* from) {
    typedef From Other __attribute__((vector_size(W * sizeof(From))));
    Other x;
    __builtin_memcpy(&x, from, sizeof(x));
    return of(__builtin_convertvector(x, Vector));
  }
  DRL_HD static Pack load_strided(const T* from, int64_t stride) {
    return of_lanes([&](int l) DRL_LAMBDA { return from[l * stride]; });
  }
  template <class From>
  DRL_HD static Pack gather(const From* from, Pack<int32_t, W> index, int64_t stride) {
    return of_lanes([&](int l) DRL_LAMBDA { return static_cast<T>(from[index.v[l] * stride]); });
  }
  // Two floats are loaded at once, as one number of 64 bits.
  template <class From>
  DRL_HD static void gather_two(const From* from, Pack<int32_t, W> index, Pack& first, Pack& second) {
    int32_t at[W];
    store(at, index);
    if constexpr (std::is_same_v<From, T> && sizeof(T) == 4 && W > 2) {
      using Twos = Pack<uint64_t, W / 2>;
      const auto twos_from = [&](int begin) DRL_LAMBDA {
        const Twos twos = Twos::of_lanes([&](int l) DRL_LAMBDA {
          uint64_t two;
          __builtin_memcpy(&two, from + at[begin + l], sizeof(two));
          return two;
        });
        return of(reinterpret_cast<Vector>(twos.v));
      };
      const Pack low = twos_from(0), high = twos_from(W / 2);
      first = shuffle(low, high, kEverySecond<W>.from[0]), second = shuffle(low, high, kEverySecond<W>.from[1]);
    } else {
      first = of_lanes([&](int l) DRL_LAMBDA { return static_cast<T>(from[at[l]]); });
      second = of_lanes([&](int l) DRL_LAMBDA { return static_cast<T>(from[at[l] + 1]); });
    }
  }
  DRL_HD void store_strided(T* to, int64_t stride) const {
    for (int l = 0; l < W; ++l) to[l * stride] = v[l];
  }
  DRL_HD static Pack numbers() {
    return of_lanes([](int l) DRL_LAMBDA { return static_cast<T>(l); });
  }

  DRL_HD friend void store(T* to, Pack x) {
#if defined(__ARM_NEON)  // GCC would copy 16 bytes through two general registers here
    typedef T Unaligned __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));
    *reinterpret_cast<Unaligned*>(to) = x.v;
#else
    __builtin_memcpy(to, &x.v, sizeof(x.v));
#endif
  }
  DRL_HD friend T lane(Pack x, int l) { return x.v[l]; }
  DRL_HD friend T* numbers_of(Pack& x) { return reinterpret_cast<T*>(&x); }
  DRL_HD friend const T* numbers_of(const Pack& x) { return reinterpret_cast<const T*>(&x); }
  DRL_HD friend Pack<double, W / 2> wide_half(const Pack& x, int first) {
    return Pack<double, W / 2>::load(reinterpret_cast<const T*>(&x) + first);
  }
  DRL_HD friend void set_half(Pack& x, int first, Pack<double, W / 2> half) {
    store(reinterpret_cast<T*>(&x) + first, convert<Pack<T, W / 2>>(half));
  }
  DRL_HD friend bool all_finite(Pack x) {
#if defined(__AVX512DQ__)
    constexpr int kInfiniteOrNan = 0x99;
    if constexpr (W == 16 && std::is_same_v<T, float>)
      return _mm512_fpclass_ps_mask(reinterpret_cast<__m512>(x.v), kInfiniteOrNan) == 0;
#endif
    return !any(x - x != Pack(0));
  }

  // Returns number(l) in lane l. All lanes are set at once; if they were set one by one, each would wait for the
  // previous one.
  template <class Number>
  DRL_HD static Pack of_lanes(const Number& number) {
    return [&]<int... L>(std::integer_sequence<int, L...>) DRL_LAMBDA { return of(Vector{number(L)...}); }
    (std::make_integer_sequence<int, W>());
  }

  DRL_HD friend Pack operator+(Pack a, Pack b) { return of(a.v + b.v); }
  DRL_HD friend Pack operator-(Pack a, Pack b) { return of(a.v - b.v); }
  DRL_HD friend Pack operator*(Pack a, Pack b) { return of(a.v * b.v); }
  DRL_HD friend Pack operator/(Pack a, Pack b) { return of(a.v / b.v); }
  DRL_HD friend Pack operator-(Pack a) { return of(-a.v); }
  DRL_HD friend Pack& operator+=(Pack& a, Pack b) { return a.v += b.v, a; }
  DRL_HD friend Pack& operator-=(Pack& a, Pack b) { return a.v -= b.v, a; }
  DRL_HD friend Pack& operator*=(Pack& a, Pack b) { return a.v *= b.v, a; }
  DRL_HD friend Pack operator&(Pack a, Pack b) { return of(a.v & b.v); }
  DRL_HD friend Pack operator|(Pack a, Pack b) { return of(a.v | b.v); }
  DRL_HD friend Pack operator^(Pack a, Pack b) { return of(a.v ^ b.v); }
  DRL_HD friend Pack operator<<(Pack a, int bits) { return of(a.v << bits); }
  DRL_HD friend Pack operator>>(Pack a, int bits) { return of(a.v >> bits); }
  DRL_HD friend Mask operator<(Pack a, Pack b) { return {a.v < b.v}; }
  DRL_HD friend Mask operator>(Pack a, Pack b) { return {a.v > b.v}; }
  DRL_HD friend Mask operator<=(Pack a, Pack b) { return {a.v <= b.v}; }
  DRL_HD friend Mask operator>=(Pack a, Pack b) { return {a.v >= b.v}; }
  DRL_HD friend Mask operator==(Pack a, Pack b) { return {a.v == b.v}; }
  DRL_HD friend Mask operator!=(Pack a, Pack b) { return {a.v != b.v}; }
};

// Converts the numbers of x to those of To. Conversion to float rounds; conversion to an integer truncates.
template <class To, class T, int W>
DRL_HD To convert(Pack<T, W> x) {
  return To::of(__builtin_convertvector(x.v, typename To::Vector));
}
// Returns the same bits as another type.
template <class To, class T, int W>
DRL_HD To bit_cast(Pack<T, W> x) {
  return To::of(reinterpret_cast<typename To::Vector>(x.v));
}

// Shuffle indices that assemble the numbers o * W to o * W + W - 1 of rows [W, K] from K columns. Step k merges column
// k into the result of the previous steps: an index W + lane in from[o][k] takes a number from column k, and an index
// below W keeps a number in its place. The first step merges two columns at once.
template <int K, class Index, int W>
struct RowShuffle {
  alignas(64) Index from[K][K][W] = {};
  constexpr RowShuffle() {
    for (int o = 0; o < K; ++o)
      for (int k = 1; k < K; ++k)
        for (int e = 0; e < W; ++e) {
          const int column = (o * W + e) % K, row = (o * W + e) / K;
          from[o][k][e] = column == k ? W + row : k == 1 ? row : e;
        }
  }
};
template <int K, class Index, int W>
inline constexpr RowShuffle<K, Index, W> kRowShuffle{};

// Returns numbers of a and b, selected by `from`: indices below W select from a, and W + l selects lane l of b.
template <class T, int W, class Index>
DRL_HD Pack<T, W> shuffle(Pack<T, W> a, Pack<T, W> b, const Index (&from)[W]) {
#if defined(__clang__)
  Pack<T, W> shuffled;
  for (int e = 0; e < W; ++e) shuffled.v[e] = from[e] < W ? a.v[from[e]] : b.v[from[e] - W];
  return shuffled;
#else
  return Pack<T, W>::of(__builtin_shuffle(a.v, b.v, Pack<Index, W>::load(from).v));
#endif
}

// Transposes the columns x [K] of W numbers each to rows [W, K], in place. If K is even, pairs of columns are merged
// first and then treated as columns of numbers twice as wide.
template <int K, class T, int W>
DRL_HD void to_rows(Pack<T, W>* x) {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Wider = Pack<uint64_t, W / 2>;
  if constexpr (K % 2 == 0 && K > 2 && sizeof(T) == 4) {
    Wider pairs[2][K / 2];
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < K; k += 2)
        pairs[half][k / 2].v =
            reinterpret_cast<typename Wider::Vector>(shuffle(x[k], x[k + 1], kRowShuffle<2, Index, W>.from[half][1]).v);
      to_rows<K / 2>(pairs[half]);
    }
    for (int k = 0; k < K; ++k) x[k].v = reinterpret_cast<typename Pack<T, W>::Vector>(pairs[2 * k / K][k % (K / 2)].v);
  } else {
    Pack<T, W> columns[K];
    for (int k = 0; k < K; ++k) columns[k] = x[k];
    for (int o = 0; o < K; ++o) {
      x[o] = columns[0];
      for (int k = 1; k < K; ++k) x[o] = shuffle(x[o], columns[k], kRowShuffle<K, Index, W>.from[o][k]);
    }
  }
}

// Stores the columns x [K] as rows out [W, K].
template <int K, class T, int W>
DRL_HD void store_rows(T* out, const Pack<T, W>* x) {
  if constexpr (K > 8) {
    alignas(64) T columns[K][W];
    for (int k = 0; k < K; ++k) store(columns[k], x[k]);
    for (int l = 0; l < W; ++l)
      for (int k = 0; k < K; ++k) out[l * K + k] = columns[k][l];
  } else {
    Pack<T, W> rows[K];
    for (int k = 0; k < K; ++k) rows[k] = x[k];
    to_rows<K>(rows);
    for (int o = 0; o < K; ++o) store(out + o * W, rows[o]);
  }
}
// Stores the columns x [size] as rows out [W, size].
template <class T, int W>
DRL_HD void store_rows(T* out, const Pack<T, W>* x, int size) {
  alignas(64) T column[W];
  for (int k = 0; k < size; ++k) {
    store(column, x[k]);
    for (int l = 0; l < W; ++l) out[l * size + k] = column[l];
  }
}

}  // namespace DRL_ISA

template <class T, int W>
struct LaneTraits<Pack<T, W>> {
  static constexpr int width = W;
  using Scalar = T;
  using Mask = typename Pack<T, W>::Mask;
  using Int = Pack<int32_t, W>;
  using Bits = Pack<uint32_t, W>;
  using Wide = Pack<double, W>;
  using HalfWide = Pack<double, W / 2>;
};

namespace math {
inline namespace DRL_ISA {

template <class T, int W>
DRL_HD Pack<T, W> select(typename Pack<T, W>::Mask condition, Pack<T, W> yes, Pack<T, W> no) {
  return Pack<T, W>::of(condition.v ? yes.v : no.v);
}

}  // namespace DRL_ISA
}  // namespace math

#endif

// Converts a single number in the same ways.
template <class To, class From, class = std::enable_if_t<std::is_arithmetic_v<From>>>
DRL_HD constexpr To convert(From x) {
  return static_cast<To>(x);
}
template <class To, class From, class = std::enable_if_t<std::is_arithmetic_v<From>>>
DRL_HD constexpr To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}

// Returns the integer quotient x / by.
DRL_HD uint32_t quotient(uint32_t x, uint32_t by) { return x / by; }
#if !defined(DRL_GPU_COMPILER)
// Computes in double, where the quotient of two 32-bit integers is never rounded up to the next integer.
template <int W>
DRL_HD Pack<uint32_t, W> quotient(Pack<uint32_t, W> x, uint32_t by) {
  using Wide = Pack<double, W>;
  return convert<Pack<uint32_t, W>>(convert<Wide>(x) / Wide(static_cast<double>(by)));
}
#endif

// Calls body(mask) while any lane of the mask is true. body returns the lanes that continue. It must not change the
// values of finished lanes: x = select(mask, new_x, x).
template <class M, class Body>
DRL_HD void while_any(M mask, Body&& body) {
  while (any(mask)) mask = mask & body(mask);
}

}  // namespace drl

#if !defined(DRL_GPU_COMPILER)
// Only explains an error: functions of the standard library do not take packs.
#define DRL_EXPLAIN(function)                                                                   \
  template <class T, int W, class... More>                                                      \
  drl::Pack<T, W> function(drl::Pack<T, W> x, More...) {                                        \
    static_assert(W < 0, "call math::" #function " (drl/math.hpp) instead of std::" #function); \
    return x;                                                                                   \
  }
namespace std {
DRL_EXPLAIN(abs)
DRL_EXPLAIN(fabs)
DRL_EXPLAIN(sqrt)
DRL_EXPLAIN(sin)
DRL_EXPLAIN(cos)
DRL_EXPLAIN(exp)
DRL_EXPLAIN(log)
DRL_EXPLAIN(tanh)
DRL_EXPLAIN(floor)
DRL_EXPLAIN(atan2)
}  // namespace std
#undef DRL_EXPLAIN
#endif
