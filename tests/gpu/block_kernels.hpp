// Kernels that test blocks, warps and fragments.
#pragma once

#include <cstdint>

#include "device/blocks.hpp"

namespace drl::test {

// Multiplies A [16, 16] by B [16, 16] in every way in which they can be stored: bit 0 of a block's index says that A is
// stored transposed, bit 1 that B is. Rows and columns of the stored matrices begin at 16 of `columns`.
template <class Factors>
struct Products {
  static constexpr int kWarps = 1, kBlocksPerMultiprocessor = 1;
  const float *a, *b;  // [16, 16]
  int columns;
  float* c;  // [4, 16, 16]
  size_t shared() const { return static_cast<size_t>(2 * Factors::kParts * 32 * columns / 2) * sizeof(uint32_t); }
#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
  struct Registers {};
  DRL_WARP void operator()(Block<Products>& block) const;
#endif
};

// Each warp adds its number to those that its neighbour has passed on, `turns` times. Sums are kept in registers.
struct PassOn {
  static constexpr int kWarps = 4, kBlocksPerMultiprocessor = 1;
  int turns;
  float* out;  // [blocks, kWarps, 32]
#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
  struct Registers {
    WarpFloat sum;
  };
  DRL_WARP void operator()(Block<PassOn>& block) const;
#endif
};

}  // namespace drl::test
