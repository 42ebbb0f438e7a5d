#pragma once

#include "device/fingerprint.hpp"
#include "device/reduce.hpp"

namespace drl {

// Columns: one per segment. Each term is 20 bits of a hash of a word and its index, so that sums are exact in any
// order.
struct SegmentHashes {
  const Fingerprints::Segment* segments;

  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    const Fingerprints::Segment& segment = segments[column];
    if (row + kLanesOf<F> <= segment.count) return hash(load<Bits<F>>(segment.words + row), row);
    Wide<F> result = Wide<F>(0);
    if constexpr (1 < kLanesOf<F>) {
      for (int l = 0; row + l < segment.count; ++l) result.v[l] = hash(segment.words[row + l], row + l);
    }
    return result;
  }

 private:
  template <class U>
  DRL_HD static Wide<U> hash(U x, int64_t row) {
    x = x ^ ((U(static_cast<uint32_t>(row)) + lane_numbers<U>()) * U(0x9E3779B9u));
    x = (x ^ (x >> 16)) * U(0x85EBCA6Bu);
    x = (x ^ (x >> 13)) * U(0xC2B2AE35u);
    return convert<Wide<U>>(bit_cast<Int<U>>(x >> 12));
  }
};

// Writes the sum of `count` numbers to `out`.
struct AddUp {
  const double* numbers;
  int count;
  double* out;
  DRL_HD void operator()(int64_t) const {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += numbers[i];
    *out = sum;
  }
};

}  // namespace drl
