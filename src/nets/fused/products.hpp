// Matrix products in blocks whose sums stay in registers from the first multiply-add to the operation after the last
// one. Matrices are row-major, and every row is padded to whole registers.
//
// Every element of a product is one sum in a fixed order, so it is bit-identical on every instruction set with fused
// multiply-adds. There is one exception: the AVX512_BF16 instruction treats denormal numbers as 0.
//
// The factors are "words". A word is a float, or a pair of bfloat16 (the upper halves of floats) that are neighbours in
// the sum. A pair has the size of one float, so the same product needs half as many words. Sums are always floats.
#pragma once

#include <cstdint>

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl {

inline constexpr int64_t kPadded = 16;    // rows are padded to multiples of this many floats, the largest register
inline constexpr int64_t kRowBlock = 48;  // rows per call of a function object: a multiple of every block's rows

constexpr int64_t padded(int64_t width) { return (width + kPadded - 1) / kPadded * kPadded; }

// The formats of the factors.
struct Fp32 {
  static constexpr int64_t kPerWord = 1;
};
struct Bf16 {
  static constexpr int64_t kPerWord = 2;
};
template <class Numbers>
constexpr int64_t words(int64_t numbers) {
  return (numbers + Numbers::kPerWord - 1) / Numbers::kPerWord;
}

inline namespace DRL_ISA {

// The shape of a block: kBlockRows rows for a given number of registers side by side. The accumulators and the operands
// fill the CPU's registers, and there are enough accumulators to hide the latency of multiply-adds (4 cycles with two
// per cycle, or four per cycle on NEON).
#if defined(__AVX512F__)
template <int Registers>
inline constexpr int kBlockRows = Registers == 4 ? 6 : 12;
inline constexpr int kWidest = 4;
#elif defined(__ARM_NEON)  // with 24 accumulators GCC spills some, since it loads many rows of `a` at once
template <int Registers>
inline constexpr int kBlockRows = 4;
inline constexpr int kWidest = 4;
#elif defined(__AVX2__)
template <int Registers>
inline constexpr int kBlockRows = 6;
inline constexpr int kWidest = 2;
#else
template <int Registers>
inline constexpr int kBlockRows = 4;
inline constexpr int kWidest = 2;
#endif

template <int N>
struct Registers {
  static constexpr int value = N;
};

// Calls body(first column, Registers<N>{}) for the panels of N registers that make up `columns`, widest first.
template <class Body>
DRL_HD void for_each_panel(int64_t columns, Body&& body) {
  constexpr int64_t lanes = kFloatLanes;
  int64_t first = 0;
  if constexpr (kWidest == 4)
    for (; first + 4 * lanes <= padded(columns); first += 4 * lanes) body(first, Registers<4>{});
  for (; first + 2 * lanes <= padded(columns); first += 2 * lanes) body(first, Registers<2>{});
  for (; first < padded(columns); first += lanes) body(first, Registers<1>{});
}

// Calls body(first row, Registers<R>{}) for the blocks of R rows that cover rows begin to end - 1, for panels of N
// registers. The last block may extend beyond the end by a few rows.
template <int N, class Body>
DRL_HD void for_each_block(int64_t begin, int64_t end, Body&& body) {
  constexpr int most = kBlockRows<N>;
  for (; begin + (most > 8 ? 8 : 4) < end; begin += most) body(begin, Registers<most>{});
  if constexpr (most > 8)
    if (begin + 4 < end) return body(begin, Registers<8>{});
  if (begin + 2 < end) return body(begin, Registers<4>{});
  if (begin < end) body(begin, Registers<2>{});
}

// The operands of the sums begin[column] + a[row, 0] b[0, column] + a[row, 1] b[1, column] + ... If `begin` is null,
// the sums start at 0.
struct Product {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_step, steps;
  const float* begin;
};

// Computes the sums of a block of `Rows` rows and N registers of columns. multiply_add(sum, word of a, words of b)
// returns the sum with the products added.
template <int Rows, int N, class MultiplyAdd>
DRL_HD void multiply(const Product& p, math::Floats (&out)[Rows][N], const MultiplyAdd& multiply_add) {
  using F = math::Floats;
  F sums[Rows][N];  // a local array, since GCC for Arm would write `out` to memory at every step
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) sums[r][v] = p.begin ? load<F>(p.begin + v * kFloatLanes) : F(0);
  for (int64_t k = 0; k < p.steps; ++k) {
    F row_of_b[N];
    for (int v = 0; v < N; ++v) row_of_b[v] = load<F>(p.b + k * p.b_step + v * kFloatLanes);
    for (int r = 0; r < Rows; ++r) {
      const F one_of_a(p.a[r * p.a_row + k * p.a_step]);
      for (int v = 0; v < N; ++v) sums[r][v] = multiply_add(sums[r][v], one_of_a, row_of_b[v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) out[r][v] = sums[r][v];
}

// Return the upper and lower halves of words, as floats.
DRL_HD math::Floats upper_half(math::Floats words) {
  return bit_cast<math::Floats>(bit_cast<Bits<math::Floats>>(words) & 0xffff0000u);
}
DRL_HD math::Floats lower_half(math::Floats words) {
  return bit_cast<math::Floats>(bit_cast<Bits<math::Floats>>(words) << 16);
}
// Rounds to the nearest bfloat16 (ties to even) and returns it in the upper half of each word. NaN stays NaN.
template <class F>
DRL_HD Bits<F> rounded_to_bf16(F x) {
  using B = Bits<F>;
  const B bits = drl::bit_cast<B>(x), nearest = bits + B(0x7fffu) + (bits >> 16 & B(1u));
  return math::select(x == x, nearest, bits | B(0x400000u)) & B(0xffff0000u);
}

// Computes a block of sums and calls end(row, register, sum) for each of its registers.
template <class Numbers, int Rows, int N, class End>
DRL_HD void multiply_block(const Product& p, [[maybe_unused]] bool has_pair_instruction, const End& end) {
  using F = math::Floats;
  F sums[Rows][N];
  if constexpr (Numbers::kPerWord == 1) {
    multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA { return math::fma(a, b, sum); });
  } else {
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
    if (has_pair_instruction) {  // in assembly, since units are not compiled for AVX512_BF16
      multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA {
        asm("vdpbf16ps %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
        return sum;
      });
    } else
#endif
      multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA {
        return math::fma(lower_half(a), lower_half(b), math::fma(upper_half(a), upper_half(b), sum));
      });
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) end(r, v, sums[r][v]);
}

}  // namespace DRL_ISA

}  // namespace drl
