// Floats of 16 bits, the factors of a GPU's matrix products, and their order in shared memory. A word holds two of
// them; the first is in its lower half. Conversions round to nearest, ties to even.
#pragma once

#include <cstdint>

#include "drl/lanes/lanes.hpp"

namespace drl {

// IEEE 754's binary16: 11 significant bits, up to 65504.
struct Fp16 {
  static constexpr float kLargest = 65504;
  DRL_HD static uint32_t pack(float low, float high) {
#if defined(DRL_GPU_CODE)
    uint32_t word = 0;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return bits(low) | bits(high) << 16;
#endif
  }
  DRL_HD static float low(uint32_t word) { return number(word & 0xffff); }
  DRL_HD static float high(uint32_t word) { return number(word >> 16); }

 private:
  DRL_HD static float number(uint32_t half) {
#if defined(DRL_GPU_CODE)
    float x = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<uint16_t>(half)));
    return x;
#else
    const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, digits = half & 1023;
    if (exponent == 31) return bit_cast<float>(sign | 0x7f800000 | digits << 13);
    // Below 2^-14, numbers are multiples of 2^-24.
    const float size =
        exponent == 0 ? static_cast<float>(digits) * 0x1p-24f : bit_cast<float>((exponent + 112) << 23 | digits << 13);
    return bit_cast<float>(bit_cast<uint32_t>(size) | sign);
#endif
  }
  DRL_HD static uint32_t bits(float x) {
    const uint32_t word = bit_cast<uint32_t>(x), sign = word >> 16 & 0x8000;
    const float size = bit_cast<float>(word & 0x7fffffff);
    if (size != size) return sign | 0x7fff;
    if (size >= 65520) return sign | 0x7c00;  // rounds to infinity
    // Adding this number makes the sum's last digit that of the half, whose bits then are the difference.
    const float top =
        bit_cast<float>((bit_cast<uint32_t>(size < 0x1p-14f ? 0x1p-14f : size) & 0x7f800000) + (13 << 23));
    const uint32_t digits = bit_cast<uint32_t>(size + top) - bit_cast<uint32_t>(top);
    const uint32_t exponent = (bit_cast<uint32_t>(top) >> 23) - 13 - 112;  // at least 1
    return sign | (((exponent - 1) << 10) + digits);
  }
};

// The upper half of a float: 8 significant bits, and a float's range.
struct Bf16 {
  static constexpr float kLargest = 3.38953139e38f;
  DRL_HD static uint32_t pack(float low, float high) {
#if defined(DRL_GPU_CODE)
    uint32_t word = 0;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return bits(low) | bits(high) << 16;
#endif
  }
  DRL_HD static float low(uint32_t word) { return bit_cast<float>(word << 16); }
  DRL_HD static float high(uint32_t word) { return bit_cast<float>(word & 0xffff0000); }

 private:
  DRL_HD static uint32_t bits(float x) {
    const uint32_t word = bit_cast<uint32_t>(x);
    return x != x ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16;
  }
};

// The order of the halves of a matrix with 16, 32, 64 or 128 columns. Rows follow each other. In a row, chunks of 8
// halves are exchanged, so that neither 8 consecutive rows of a chunk nor the chunks of a row share memory banks.
struct ChunkOrder {
  int columns;
  // Returns the word that holds columns `column` (even) and column + 1 of the row. I is int or WarpInt.
  template <class I>
  DRL_HD I word(I row, I column) const {
    return row * I(columns / 2) + (((column >> 3) ^ exchange(row)) << 2) + ((column & I(7)) >> 1);
  }
  // The inverse: returns the first of the two columns that a word of the row holds.
  DRL_HD int column(int row, int word_in_row) const {
    return (((word_in_row >> 2) ^ exchange(row)) << 3) + ((word_in_row & 3) << 1);
  }

 private:
  template <class I>
  DRL_HD I exchange(I row) const {
    return columns == 16 ? (row >> 2) & I(1) : columns == 32 ? (row >> 1) & I(3) : row & I(7);
  }
};

// How products round their factors: to one half each, or to two (kParts), x = first + second / kSecondScale, whose
// digits add up. Without the scale, the second part of a number below 1/8 would be below the smallest normal half.
template <class OneFormat, int kNumParts>
struct FactorsOf {
  using Format = OneFormat;
  static constexpr int kParts = kNumParts;
  static constexpr float kSecondScale = 2048;
};
using ExactFactors = FactorsOf<Fp16, 2>;  // 22 bits: products are about as exact as in float32
using Fp16Factors = FactorsOf<Fp16, 1>;
using Bf16Factors = FactorsOf<Bf16, 1>;

// Rounds two floats to the parts of a word each.
template <class Factors>
DRL_HD void split(float low, float high, uint32_t (&parts)[Factors::kParts]) {
  using Format = typename Factors::Format;
  parts[0] = Format::pack(low, high);
  if constexpr (Factors::kParts == 2)
    parts[1] = Format::pack((low - Format::low(parts[0])) * Factors::kSecondScale,
                            (high - Format::high(parts[0])) * Factors::kSecondScale);
}

}  // namespace drl
