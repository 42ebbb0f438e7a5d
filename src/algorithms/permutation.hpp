// A permutation that is computed index by index instead of being stored.
#pragma once

#include <cstdint>

#include "drl/lanes/hd.hpp"
#include "drl/lanes/lanes.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {

// A keyed permutation of 0..size-1. It is a six-round Feistel network on 0..2^n-1, the smallest such range that holds
// `size` indices (2^n is at least 256). An image that is not below `size` is permuted again until it is ("cycle
// walking", Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
class Permutation {
 public:
  // `size` must be in 1..2^31.
  DRL_HD Permutation(uint64_t seed, uint64_t iteration, uint32_t epoch, uint64_t shard, uint32_t size) : size_(size) {
    int bits = 8;  // with fewer bits, five elements were not mixed well: some places came up 5 % too often
    while (bits < 32 && (uint64_t{1} << bits) < size) ++bits;
    left_bits_ = bits / 2;
    right_bits_ = bits - left_bits_;
    const Words4 a = random_bits(seed, Purpose::permutation, shard, iteration, 2 * epoch);
    const Words4 b = random_bits(seed, Purpose::permutation, shard, iteration, 2 * epoch + 1);
    for (int round = 0; round < kRounds; ++round) key_[round] = round < 4 ? a[round] : b[round - 4];
  }

  // Returns the image of i; U is one index or a pack of indices.
  template <class U>
  DRL_HD U operator()(U i) const {
    i = encrypt(i);
    while_any(i >= U(size_), [&](auto beyond) DRL_LAMBDA {
      i = math::select(beyond, encrypt(i), i);
      return i >= U(size_);
    });
    return i;
  }

 private:
  static constexpr int kRounds = 6;

  // A bijection of 32 bits in which every input bit affects every output bit: murmur3's 32-bit finaliser.
  template <class U>
  DRL_HD static U mix(U x) {
    x = (x ^ (x >> 16)) * U(0x85EBCA6Bu);
    x = (x ^ (x >> 13)) * U(0xC2B2AE35u);
    return x ^ (x >> 16);
  }

  // The halves may differ in width and are swapped in each round; an even number of rounds restores the widths.
  template <class U>
  DRL_HD U encrypt(U i) const {
    U left = i >> right_bits_, right = i & U((1u << right_bits_) - 1);
    for (int round = 0; round < kRounds; ++round) {
      const int left_width = round % 2 ? right_bits_ : left_bits_;
      const U next = (left ^ mix(right + U(key_[round]))) & U((1u << left_width) - 1);
      left = right;
      right = next;
    }
    return (left << right_bits_) | right;
  }

  uint32_t size_;
  int left_bits_, right_bits_;
  uint32_t key_[kRounds];
};

}  // namespace drl
