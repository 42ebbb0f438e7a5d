// The kernel that computes a network's gradient over a mini-batch, and the table of the losses for which it is
// compiled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "device/blocks.hpp"
#include "device/for_each.hpp"
#include "nets/batch.hpp"
#include "nets/gpu_fused/fused_plan.hpp"

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
#include "nets/gpu_fused/fused_tile.hpp"
#endif

namespace drl {

enum class FusedPrecision { fp32, fp16, bf16 };
template <class Factors>
inline constexpr FusedPrecision kFusedPrecision =
    Factors::kParts == 2                             ? FusedPrecision::fp32
    : std::is_same_v<typename Factors::Format, Fp16> ? FusedPrecision::fp16
                                                     : FusedPrecision::bf16;

// The arguments of a kernel: a network and a mini-batch.
struct FusedPass {
  FusedPlan plan;
  const uint32_t* packed;
  Rows rows;
  int64_t blocks = 0;         // at most one per tile
  float* partials = nullptr;  // [blocks, plan.num_partials()]: the blocks' sums
  int64_t tiles() const { return (rows.count + kTileRows - 1) / kTileRows; }
};

// A kernel for a loss's part that belongs to one of the networks.
struct FusedGradientKernel {
  LossId loss;
  DistributionId distribution;
  bool of_critic;
  int shape_index;  // in kFusedShapes
  FusedPrecision precision;
  int blocks_per_multiprocessor;
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
    int64_t blocks, size, num_params;
    float* gradient;  // of the network
    DRL_HD float sum(int64_t i) const {
      constexpr int kAtOnce = 32;  // loads that do not wait for each other
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
  int64_t loss_columns;
  float *tail, *d_free;
  DRL_HD void operator()(int64_t i) const {
    for (const Of& net : nets) {
      if (i < net.num_params) {
        net.gradient[i] = net.sum(i);
        return;
      }
      i -= net.num_params;
    }
    const float of_first = nets[0].sum(nets[0].num_params + i);
    if (i >= loss_columns) {
      d_free[i - loss_columns] = of_first;
    } else {
      tail[i] = nets[1].partials ? of_first + nets[1].sum(nets[1].num_params + i) : of_first;
    }
  }
};

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)

// A part of a loss, which needs the outputs of one network only: the actor's or the critic's.
template <class Loss, bool kIsCritics>
struct FusedLoss {
  static constexpr bool kOfCritic = kIsCritics;
  Loss loss;
  // Computes the loss of a tile's sample `row`, which is sample rows[row] of the rollout, from the network's outputs
  // `out` [kTileRows, outputs], writes the gradient with respect to these to d_out, and adds to columns of `sums`.
  template <class Sums>
  DRL_HD void operator()(int64_t row, const int32_t* rows, float* out, float* d_out, Sums& sums) const {
    Loss of_tile = loss;
    of_tile.tile.rows = rows;
    (kOfCritic ? of_tile.tile.value : of_tile.tile.policy_out) = out;
    (kOfCritic ? of_tile.tile.d_value : of_tile.tile.d_policy) = d_out;
    of_tile.template lanes<float>(row, sums);
  }
};

template <FusedShape kShape, class Factors, class Loss>
struct FusedGradient {
  using Tile = FusedTile<kShape, Factors>;
  static constexpr int kWarps = Tile::kWarps;
  // More would not fit into shared memory, or need more registers than there are.
  static constexpr int kBlocksPerMultiprocessor = kShape.width == 128    ? 1
                                                  : !kShape.exact        ? 2
                                                  : Factors::kParts == 2 ? (kShape.inputs == 16 ? 3 : 2)
                                                  : kShape.inputs == 16  ? 4
                                                                         : 3;
  static constexpr int kUnrolledLayers = kShape.exact ? kShape.hidden_layers : 0;
  using Registers = typename Tile::Sums;

  FusedPass pass;
  int64_t tiles;
  Loss loss;

  DRL_WARP void operator()(Block<FusedGradient>& block) const {
    constexpr int threads = Block<FusedGradient>::kThreads;
    const FusedPlan& plan = pass.plan;
    const Tile tile(plan, block.shared());
    const int hidden = tile.hidden_layers();
    block.threads([&](int thread) {
      tile.template copy_weights<threads>(thread, pass.packed);
      tile.template clear_columns<threads>(thread);
    });
    block.warps([&](int warp, Registers& sums) {
      sums.clear();
      tile.store_index(warp, tile.load_index(warp, pass.rows, block.index()));
    });
    for (int64_t number = block.index(); number < tiles; number += pass.blocks) {
      block.threads([&](int thread) { tile.template load_inputs<threads>(thread, pass.rows); });
      DRL_ROLLED_IF_LONG(kUnrolledLayers)
      for (int layer = 0; layer < hidden; ++layer)
        block.warps([&](int warp, Registers&) { tile.template forward<Tile::kPairsBesideSums>(warp, layer); });
      block.warps([&](int warp, Registers&) {
        tile.compute_outputs(warp);
        tile.compute_loss(warp, loss);
      });
      block.warps([&](int warp, Registers& sums) {
        // Kernels for exact shapes work while they wait for the index; the others have no register left for it.
        WarpInt next;
        if constexpr (kShape.exact) next = tile.load_index(warp, pass.rows, number + pass.blocks);
        tile.round_d(warp, sums);
        if constexpr (!kShape.exact) next = tile.load_index(warp, pass.rows, number + pass.blocks);
        tile.store_index(warp, next);
      });
      block.warps([&](int warp, Registers& sums) { sums.add_last(warp, tile); });
      DRL_ROLLED_IF_LONG(kUnrolledLayers)
      for (int layer = hidden; layer > 0; --layer) {
        block.warps([&](int warp, Registers&) { tile.backward(warp, layer); });
        block.warps([&](int warp, Registers& sums) {
          if (layer == 1) return sums.add_first(warp, tile);
          sums.add_hidden(warp, layer - 1, tile);
        });
      }
    }
    float* params = pass.partials + block.index() * plan.num_partials();
    block.warps([&](int warp, Registers& sums) { sums.write(warp, tile, params); });
    block.threads([&](int thread) { tile.template write_columns<threads>(thread, params, params + plan.num_params); });
  }
};

// Adds the kernels for a part of the loss, kPart(loss), to the table: one for each shape.
template <class Factors, class Loss, auto kPart, bool kOfCritic>
void add_fused_gradients(LossId id, DistributionId distribution) {
  using Part = FusedLoss<std::decay_t<std::invoke_result_t<decltype(kPart), const Loss&>>, kOfCritic>;
  for_each_fused_shape([&]<int kIndex>() {
    using Kernel = FusedGradient<kFusedShapes[kIndex], Factors, Part>;
    gpu::make_blocks<Kernel>();
    const auto enqueue = [](Queue& queue, const FusedPass& pass, const void* loss) {
      for_each_block(queue, pass.blocks, pass.plan.shared(),
                     Kernel{pass, pass.tiles(), {std::invoke(kPart, *static_cast<const Loss*>(loss))}});
    };
    fused_gradient_kernels().push_back(
        {id, distribution, kOfCritic, kIndex, kFusedPrecision<Factors>, Kernel::kBlocksPerMultiprocessor, enqueue});
  });
}

#endif

}  // namespace drl
