// The kernel that computes a network's gradient over a mini-batch, and the table of the losses for which it is
// compiled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/blocks.hpp"
#include "device/for_each.hpp"
#include "nets/batch.hpp"
#include "nets/gpu_fused/fused_plan.hpp"

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
#include "nets/gpu_fused/fused_tile.hpp"
#endif

namespace drl {

// The number of blocks does not depend on the GPU, so that neither do the order of additions and the sums.
inline constexpr int64_t kGradientBlocks = 256;

enum class FusedPrecision { fp32, fp16, bf16 };

// The arguments of a kernel: a network and a mini-batch.
struct FusedPass {
  FusedPlan plan;
  const uint32_t* packed;
  Rows rows;
  float* partials = nullptr;  // [blocks, plan.num_partials()]: the blocks' sums
  int64_t tiles() const { return (rows.count + kTileRows - 1) / kTileRows; }
  int64_t blocks() const { return std::min(tiles(), kGradientBlocks); }
};

// A kernel for a loss's part that belongs to one of the networks.
struct FusedGradientKernel {
  LossId loss;
  DistributionId distribution;
  bool of_critic;
  int width;
  FusedPrecision precision;
  void (*enqueue)(Queue& queue, const FusedPass& pass, const void* loss);
};
// Returns the kernels that are compiled. Units for GPUs add theirs before main().
inline std::vector<FusedGradientKernel>& fused_gradient_kernels() {
  static std::vector<FusedGradientKernel> kernels;
  return kernels;
}

// Adds up the sums of all blocks, in their order. Index i is a parameter of the first network, then one of the second,
// then a column of the loss, and at last one of the distribution's own parameters, which belong to the first network.
struct AddPartials {
  using GpuOnly = void;
  struct Of {
    const float* partials;  // [blocks, size]
    int64_t size, num_params;
    float* gradient;  // of the network
    DRL_HD float sum(int64_t blocks, int64_t i) const {
      constexpr int kAtOnce = 16;  // loads that do not wait for each other
      double sum = 0;
      for (int64_t first = 0; first < blocks; first += kAtOnce) {
        float x[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) x[k] = first + k < blocks ? partials[(first + k) * size + i] : 0.0f;
        for (int k = 0; k < kAtOnce; ++k) sum += double{x[k]};
      }
      return static_cast<float>(sum);
    }
  };
  Of nets[2];  // without a critic, the second has no parameters and no partial sums
  int64_t blocks, loss_columns;
  float *tail, *d_free;
  DRL_HD void operator()(int64_t i) const {
    for (const Of& net : nets) {
      if (i < net.num_params) {
        net.gradient[i] = net.sum(blocks, i);
        return;
      }
      i -= net.num_params;
    }
    const float of_first = nets[0].sum(blocks, nets[0].num_params + i);
    if (i >= loss_columns) {
      d_free[i - loss_columns] = of_first;
    } else {
      tail[i] = nets[1].partials ? of_first + nets[1].sum(blocks, nets[1].num_params + i) : of_first;
    }
  }
};

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)

// Loss is a function object (row, rows, out, d_out, sums): it computes the loss of a tile's sample `row`, which is
// sample rows[row] of the rollout, from the network's outputs `out` [kTileRows, outputs], writes the gradient with
// respect to these to d_out, and adds to columns of `sums`.
template <int kWidth, class Factors, class Loss>
struct FusedGradient {
  using Tile = FusedTile<kWidth, Factors>;
  static constexpr int kWarps = Tile::kWarps;
  static constexpr int kBlocksPerMultiprocessor = kWidth == 128 ? 1 : 2;
  using Registers = typename Tile::Sums;

  FusedPass pass;
  int64_t tiles, blocks;
  Loss loss;

  DRL_WARP void operator()(Block<FusedGradient>& block) const {
    constexpr int threads = Block<FusedGradient>::kThreads;
    const FusedPlan& plan = pass.plan;
    const Tile tile(plan, block.shared());
    const int hidden = plan.hidden_layers();
    block.threads([&](int thread) {
      tile.template copy_weights<threads>(thread, pass.packed);
      tile.template clear_columns<threads>(thread);
    });
    block.warps([&](int, Registers& sums) { sums.clear(); });
    for (int64_t number = block.index(); number < tiles; number += blocks) {
      const int64_t first = number * kTileRows, left = pass.rows.count - first;
      const int count = static_cast<int>(left < kTileRows ? left : kTileRows);
      block.threads([&](int thread) { tile.template load_inputs<threads>(thread, pass.rows, first, count); });
      for (int layer = 0; layer < hidden; ++layer)
        block.warps([&](int warp, Registers&) { tile.template forward<Tile::kPairsBesideSums>(warp, layer); });
      block.warps([&](int warp, Registers&) {
        tile.compute_outputs(warp);
        tile.compute_loss(warp, loss, pass.rows.index + first, count);
      });
      block.warps([&](int warp, Registers& sums) { tile.round_d(warp, sums); });
      block.warps([&](int warp, Registers& sums) { tile.add_last(warp, sums); });
      for (int layer = hidden; layer > 0; --layer) {
        block.warps([&](int warp, Registers&) { tile.backward(warp, layer); });
        block.warps([&](int warp, Registers& sums) {
          if (layer == 1) return tile.add_first(warp, sums);
          tile.add_hidden(warp, layer - 1, sums);
        });
      }
    }
    float* params = pass.partials + block.index() * plan.num_partials();
    block.warps([&](int warp, Registers& sums) { tile.write_sums(warp, sums, params); });
    block.threads([&](int thread) { tile.template write_columns<threads>(thread, params, params + plan.num_params); });
  }
};

// Adds the kernel for Loss::Part of a loss function object to the table.
template <int kWidth, class Factors, class Loss, class Part>
bool add_fused_gradient(FusedPrecision precision, LossId id, DistributionId distribution) {
  using Kernel = FusedGradient<kWidth, Factors, Part>;
  gpu::make_blocks<Kernel>();
  const auto enqueue = [](Queue& queue, const FusedPass& pass, const void* loss) {
    for_each_block(queue, pass.blocks(), pass.plan.shared(),
                   Kernel{pass, pass.tiles(), pass.blocks(), Part(*static_cast<const Loss*>(loss))});
  };
  fused_gradient_kernels().push_back({id, distribution, Part::kOfCritic, kWidth, precision, enqueue});
  return true;
}

// Adds the kernels of a loss for all widths: add<kWidth, Factors>(precision) adds those for one.
#define DRL_FUSED_LOSS(add, Factors, precision) \
  static const bool fused_loss_is_added =       \
      add<32, Factors>(precision) && add<64, Factors>(precision) && add<128, Factors>(precision);

#endif

}  // namespace drl
