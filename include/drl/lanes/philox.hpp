// Random numbers as a pure function of (seed, purpose, index, step). There is no generator state, so that no number
// depends on ranks, threads or order. The generator is Philox4x32-10: Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC11, doi:10.1145/2063384.2063405.
#pragma once

#include <cstdint>

#include "drl/lanes/hd.hpp"
#include "drl/lanes/lanes.hpp"

namespace drl {

// Four words: a Philox counter or its output. U is uint32_t or a pack of them. This is a plain array, because device
// code cannot call std::array.
template <class U>
struct Words4Of {
  U word[4];
  DRL_HD constexpr U operator[](int k) const { return word[k]; }
};
using Words4 = Words4Of<uint32_t>;

struct PhiloxKey {
  uint32_t word[2];
};

// Returns the upper 32 bits of a * b.
DRL_HD constexpr uint32_t multiply_high(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
#if !defined(DRL_GPU_COMPILER)
template <int W>
DRL_HD Pack<uint32_t, W> multiply_high(uint32_t a, Pack<uint32_t, W> b) {
#if defined(__AVX512F__)
  if constexpr (W == 16) {
    const __m512i x = reinterpret_cast<__m512i>(b.v), times = _mm512_set1_epi64(a);
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(x, times), 32);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), times);
    return Pack<uint32_t, W>::of(
        reinterpret_cast<typename Pack<uint32_t, W>::Vector>(_mm512_mask_blend_epi32(0xAAAA, even, odd)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) {
    const __m256i x = reinterpret_cast<__m256i>(b.v), times = _mm256_set1_epi64x(a);
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(x, times), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), times);
    return Pack<uint32_t, W>::of(
        reinterpret_cast<typename Pack<uint32_t, W>::Vector>(_mm256_blend_epi32(even, odd, 0xAA)));
  }
#endif
  using Wide = Pack<uint64_t, W>;
  return convert<Pack<uint32_t, W>>(Wide(uint64_t{a}) * convert<Wide>(b) >> 32);
}
#endif

// Runs the ten rounds. Equals Random123's philox4x32_R(10, counter, key).
template <class U>
DRL_HD constexpr Words4Of<U> philox(Words4Of<U> counter, PhiloxKey key) {
  U c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  uint32_t k0 = key.word[0], k1 = key.word[1];
  for (int round = 0; round < 10; ++round) {
    const U high0 = multiply_high(0xD2511F53u, c0), high1 = multiply_high(0xCD9E8D57u, c2);
    const U low0 = c0 * 0xD2511F53u, low1 = c2 * 0xCD9E8D57u;
    c0 = high1 ^ c1 ^ k0;
    c2 = high0 ^ c3 ^ k1;
    c1 = low1;
    c3 = low0;
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

// The purpose of a random number. The values affect the numbers of every run: never reuse or renumber one.
enum class Purpose : uint32_t {
  reset = 1,
  start_age,
  action,
  permutation,
  weights,
  benchmark,
  create,
  step,
  observe,
  first_observe,
  terrain,
  model,
  delay,
  replay,
  next_action,
  policy_action,
};

// Returns the 128 random bits of one counter with key = seed. Counter words, lowest bits first:
//   0: index 0..31    1: step 0..31    2: index 32..47 | step 32..47 << 16    3: block 0..23 | purpose << 24
// Two calls share a counter only if all their arguments are equal, for index < 2^48, step < 2^48, block < 2^24. Lane l
// of a pack uses index + l.
template <class U = uint32_t>
DRL_HD constexpr Words4Of<U> random_bits(uint64_t seed, Purpose purpose, uint64_t index, uint64_t step,
                                         uint32_t block = 0) {
  const U low = U(static_cast<uint32_t>(index)) + lane_numbers<U>();
  const uint32_t step_high = static_cast<uint32_t>(step >> 32) << 16, high = static_cast<uint32_t>(index >> 32);
  const U carried = math::select(low < U(static_cast<uint32_t>(index)), U((high + 1) & 0xFFFFu), U(high & 0xFFFFu));
  const uint32_t last = (block & 0xFFFFFFu) | static_cast<uint32_t>(purpose) << 24;
  return philox(Words4Of<U>{{low, U(static_cast<uint32_t>(step)), carried | U(step_high), U(last)}},
                {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
}

// Returns a uniform number in [0, 1) from the upper 24 bits. Every value is exact in float.
DRL_HD constexpr float uniform01(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f;
}
#if !defined(DRL_GPU_COMPILER)
template <int W>
DRL_HD Pack<float, W> uniform01(Pack<uint32_t, W> bits) {
  return convert<Pack<float, W>>(bit_cast<Pack<int32_t, W>>(bits >> 8)) * 0x1p-24f;
}
#endif

// Returns a uniform number in [0, 1) from 53 of 64 bits. Every value is exact in double.
DRL_HD constexpr double uniform01(uint32_t low, uint32_t high) {
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

}  // namespace drl
