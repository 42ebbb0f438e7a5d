// Shuffling without storing the shuffle: the image of one index is a pure function of a key.
#pragma once

#include <cstdint>

#include "drl/hd.hpp"
#include "drl/lanes.hpp"
#include "drl/philox.hpp"

namespace drl {

// A keyed permutation of 0..size-1: a six-round Feistel network on the smallest power of two, from 256 on, that holds
// `size`, walked along its cycle until it falls below `size` (Black and Rogaway, "Ciphers with Arbitrary Finite
// Domains", 2002).
class Permutation {
 public:
  // size in 1..2^31.
  DRL_HD Permutation(uint64_t seed, uint64_t iteration, uint32_t epoch, uint64_t shard, uint32_t size) : size_(size) {
    int bits = 8;  // halves of one or two bits mix too little: of five elements some places came 5 % too often
    while (bits < 32 && (uint64_t{1} << bits) < size) ++bits;
    left_bits_ = bits / 2;
    right_bits_ = bits - left_bits_;
    const Words4 a = random_bits(seed, Purpose::permutation, shard, iteration, 2 * epoch);
    const Words4 b = random_bits(seed, Purpose::permutation, shard, iteration, 2 * epoch + 1);
    for (int round = 0; round < kRounds; ++round) key_[round] = round < 4 ? a[round] : b[round - 4];
  }

  // The images of i: a number, or a pack of them.
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

  // A bijection of 32 bits that lets every input bit reach every output bit (murmur3's finaliser, one multiplication
  // less).
  template <class U>
  DRL_HD static U mix(U x) {
    x = (x ^ (x >> 16)) * U(0x85EBCA6Bu);
    x = (x ^ (x >> 13)) * U(0xC2B2AE35u);
    return x ^ (x >> 16);
  }

  // Halves of unequal width change places each round; an even number of rounds restores them.
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
