// A matrix of halves in the shared memory of a block, from and to which warps move fragments (device/warp.hpp).
#pragma once

#include <cstdint>

#include "device/warp.hpp"
#include "drl/math.hpp"

namespace drl {

template <class Factors>
struct SharedMatrix {
  using Format = typename Factors::Format;
  static constexpr int kParts = Factors::kParts;
  struct A {
    WarpBits words[kParts][4];
  };
  struct BPair {  // two factors B beside each other: 16 columns
    WarpBits words[kParts][4];
  };

  uint32_t* words;
  ChunkOrder order;
  int part;  // words of a part

  // Return A = M[row..row+15, k..k+15], or A = M^T of M[k..k+15, row..row+15].
  DRL_WARP A load_a(int row, int k) const {
    const WarpInt l = warp_lanes();
    return load<A, false>(low(l) + middle(l) + WarpInt(row), top(l) + WarpInt(k));
  }
  DRL_WARP A load_a_transposed(int k, int row) const {
    const WarpInt l = warp_lanes();
    return load<A, true>(low(l) + top(l) + WarpInt(k), middle(l) + WarpInt(row));
  }
  // Return B = M[k..k+15, column..column+15], or B = M^T of M[column..column+15, k..k+15].
  DRL_WARP BPair load_b(int k, int column) const {
    const WarpInt l = warp_lanes();
    return load<BPair, true>(low(l) + middle(l) + WarpInt(k), top(l) + WarpInt(column));
  }
  DRL_WARP BPair load_b_transposed(int column, int k) const {
    const WarpInt l = warp_lanes();
    return load<BPair, false>(low(l) + top(l) + WarpInt(column), middle(l) + WarpInt(k));
  }

  // Store and load two neighbouring numbers of each thread, the first in an even column. A half that would be infinite
  // becomes the largest one: the second part of an infinite factor would be NaN.
  DRL_WARP void store(WarpInt row, WarpInt column, WarpFloat x, WarpFloat y) const {
    const WarpInt at = order.word(row, column);
    if constexpr (std::is_same_v<Format, Fp16>) x = limited(x), y = limited(y);
    const WarpBits high = pack_halves<Format>(x, y);
    store_at(words, at, high);
    if constexpr (kParts == 2)
      store_at(words + part, at,
               pack_halves<Format>((x - low_half<Format>(high)) * WarpFloat(Factors::kSecondScale),
                                   (y - high_half<Format>(high)) * WarpFloat(Factors::kSecondScale)));
  }
  DRL_WARP void load_two(WarpInt row, WarpInt column, WarpFloat& x, WarpFloat& y) const {
    const WarpInt at = order.word(row, column);
    const WarpBits high = gather<WarpBits>(words, at);
    x = low_half<Format>(high), y = high_half<Format>(high);
    if constexpr (kParts == 2) {
      const WarpBits rest = gather<WarpBits>(words + part, at);
      x = x + low_half<Format>(rest) * WarpFloat(1 / Factors::kSecondScale);
      y = y + high_half<Format>(rest) * WarpFloat(1 / Factors::kSecondScale);
    }
  }
  // Stores two neighbouring numbers by a single thread.
  DRL_HD void store_two(int row, int column, float x, float y) const {
    uint32_t parts[kParts];
    split<Factors>(x, y, parts);
    for (int p = 0; p < kParts; ++p) words[p * part + order.word(row, column)] = parts[p];
  }

 private:
  DRL_WARP static WarpFloat limited(WarpFloat x) {
    return math::clamp(x, WarpFloat(-Format::kLargest), WarpFloat(Format::kLargest));
  }
  DRL_WARP static WarpInt low(WarpInt l) { return l & WarpInt(7); }
  DRL_WARP static WarpInt middle(WarpInt l) { return ((l >> 3) & WarpInt(1)) << 3; }
  DRL_WARP static WarpInt top(WarpInt l) { return (l >> 4) << 3; }
  template <class Fragment, bool kTransposed>
  DRL_WARP Fragment load(WarpInt row, WarpInt column) const {
    Fragment fragment;
    const WarpInt at = order.word(row, column);
    DRL_UNROLL
    for (int p = 0; p < kParts; ++p) {
      if constexpr (kTransposed)
        load_transposed_matrices(words + p * part, at, fragment.words[p]);
      else
        load_matrices(words + p * part, at, fragment.words[p]);
    }
    return fragment;
  }
};

// c += A B for a pair of neighbouring products C. With factors of two parts, the product of both second parts is left
// out, because it is below the rounding of the others. Tensor cores cut their sums, and sums of many products would be
// too small: so those of two parts, which are to be exact, are added to c by float additions, which round to nearest.
template <class Factors>
DRL_WARP void add_product(WarpFloat (*c)[4], const typename SharedMatrix<Factors>::A& a,
                          const typename SharedMatrix<Factors>::BPair& b) {
  using Format = typename Factors::Format;
  DRL_UNROLL
  for (int k = 0; k < 2; ++k) {
    const WarpBits* factor = b.words[0] + 2 * k;
    if constexpr (Factors::kParts == 1) {
      multiply_add<Format>(c[k], a.words[0], factor[0], factor[1]);
    } else {
      const WarpBits* rest = b.words[1] + 2 * k;
      WarpFloat sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      multiply_add<Format>(sum, a.words[1], factor[0], factor[1]);
      multiply_add<Format>(sum, a.words[0], rest[0], rest[1]);
      DRL_UNROLL
      for (WarpFloat& x : sum) x = x * WarpFloat(1 / Factors::kSecondScale);
      multiply_add<Format>(sum, a.words[0], factor[0], factor[1]);
      DRL_UNROLL
      for (int i = 0; i < 4; ++i) c[k][i] = c[k][i] + sum[i];
    }
  }
}

}  // namespace drl
