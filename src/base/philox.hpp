// Random numbers as a pure function of (seed, purpose, index, step): no generator state anywhere, so that no number
// depends on ranks, threads or order. Philox4x32-10: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC11, doi:10.1145/2063384.2063405.
#pragma once

#include <cstdint>

#include "base/hd.hpp"

namespace drl {

// Four words: a Philox counter or its output. Plain, because device code cannot call std::array.
struct Words4 {
  uint32_t word[4];
  DRL_HD constexpr uint32_t operator[](int k) const { return word[k]; }
};

struct PhiloxKey {
  uint32_t word[2];
};

// The ten rounds. Equal to Random123's philox4x32_R(10, counter, key).
DRL_HD constexpr Words4 philox(Words4 counter, PhiloxKey key) {
  uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  uint32_t k0 = key.word[0], k1 = key.word[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * c0, product1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

// What a number is for. The values are part of every run's numbers: never reuse or renumber one.
enum class Purpose : uint32_t { reset = 1, start_age, action, permutation, weights, benchmark };

// The 128 random bits of one counter under key = seed. Counter words, lowest bits first:
//   0: index 0..31    1: step 0..31    2: index 32..47 | step 32..47 << 16    3: block 0..23 | purpose << 24
// Two calls share a counter only if all their arguments are equal, for index < 2^48, step < 2^48, block < 2^24.
DRL_HD constexpr Words4 random_bits(uint64_t seed, Purpose purpose, uint64_t index, uint64_t step, uint32_t block = 0) {
  const uint32_t high = static_cast<uint32_t>((index >> 32) & 0xFFFFu) | static_cast<uint32_t>(step >> 32) << 16;
  const uint32_t last = (block & 0xFFFFFFu) | static_cast<uint32_t>(purpose) << 24;
  return philox({{static_cast<uint32_t>(index), static_cast<uint32_t>(step), high, last}},
                {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
}

// Uniform in [0, 1), from the 24 upper bits: every value is exact in float.
DRL_HD constexpr float uniform01(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f;
}

// Uniform in [0, 1), from 53 of 64 bits: every value is exact in double.
DRL_HD constexpr double uniform01(uint32_t low, uint32_t high) {
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

}  // namespace drl
