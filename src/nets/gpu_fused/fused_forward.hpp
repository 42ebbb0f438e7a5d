// The kernel that computes a network's outputs. Its numbers are those of the forward passes of FusedGradient, bit by
// bit.
#pragma once

#include <cstdint>

#include "nets/gpu_fused/fused_gradient.hpp"

namespace drl {

// The number of blocks that compute outputs; a row's numbers do not depend on it.
inline constexpr int64_t kForwardBlocks = 512;

template <FusedShape kShape, class Factors>
struct FusedForward {
  FusedPass pass;
  int64_t tiles, blocks;
  float* out;  // [rows, outputs]

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
  using Tile = FusedTile<kShape, Factors>;
  static constexpr int kWarps = Tile::kWarps;
  static constexpr int kBlocksPerMultiprocessor = 2;
  struct Registers {};

  DRL_WARP void operator()(Block<FusedForward>& block) const {
    constexpr int threads = Block<FusedForward>::kThreads;
    const int outputs = pass.plan.outputs;
    const Tile tile(pass.plan, block.shared());
    block.threads([&](int thread) { tile.template copy_weights<threads>(thread, pass.packed); });
    for (int64_t number = block.index(); number < tiles; number += blocks) {
      block.warps([&](int warp, Registers&) { tile.store_index(warp, tile.load_index(warp, pass.rows, number)); });
      block.threads([&](int thread) { tile.template load_inputs<threads>(thread, pass.rows); });
      DRL_ROLLED_IF_LONG(kShape.exact ? kShape.hidden_layers : 0)
      for (int layer = 0; layer < tile.hidden_layers(); ++layer)
        block.warps([&](int warp, Registers&) { tile.forward(warp, layer); });
      block.warps([&](int warp, Registers&) { tile.compute_outputs(warp); });
      const int64_t first = number * kTileRows, left = pass.rows.count - first;
      const int count = static_cast<int>(left < kTileRows ? left : kTileRows);
      block.threads([&](int thread) {
        for (int i = thread; i < count * outputs; i += threads) out[first * outputs + i] = tile.outputs()[i];
      });
    }
  }
#endif
};

}  // namespace drl
