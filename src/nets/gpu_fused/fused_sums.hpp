// The sums of the gradients of a network's weights, which a block's warps keep in registers.
#pragma once

#include "nets/gpu_fused/fused_memory.hpp"

namespace drl {

// Pairs of products C (device/warp.hpp) that a warp keeps in registers.
template <int kPairs>
struct PairSums {
  WarpFloat of[kPairs][2][4];
  template <class Change>
  DRL_WARP void each(const Change& change) {
    DRL_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      DRL_UNROLL
      for (int k = 0; k < 8; ++k) of[pair][k / 4][k % 4] = change(of[pair][k / 4][k % 4]);
    }
  }
};

// A warp's part of the gradients of the weights, summed over a block's tiles: 16 units, and every kSumGroups-th pair of
// the other factor's columns.
template <FusedShape kShape, class Factors>
class FusedSums {
 public:
  using Memory = FusedMemory<kShape, Factors>;

  DRL_WARP void clear() {
    scale_ = 0;
    each([](WarpFloat) { return WarpFloat(0.0f); });
  }
  // The power of two by which the loss's gradient is multiplied, 0 before it is known.
  DRL_WARP float scale() const { return scale_; }
  DRL_WARP void rescale(float scale) {
    const WarpFloat factor = WarpFloat(scale_ == 0 ? 1.0f : scale / scale_);
    each([&](WarpFloat x) { return x * factor; });
    scale_ = scale;
  }

  // Add to the gradients of a layer's weights and, of hidden layers, its bias.
  DRL_WARP void add_last(int warp, const Memory& memory) {
    const int last = memory.hidden_layers();
    const Matrix h = memory.hidden(last - 1), d = memory.gradient_of(last);
    DRL_ROLLED
    for (int k = 0; k < kTileRows; k += 16) add_pairs(warp, h.load_a_transposed(k, first_unit(warp)), d, k, last_);
  }
  DRL_WARP void add_hidden(int warp, int layer, const Memory& memory) {
    DRL_UNROLL
    for (int m = 1; m < kHidden; ++m)
      if (m == layer) add_layer(warp, m, memory, hidden_[m - 1]);
  }
  DRL_WARP void add_first(int warp, const Memory& memory) { add_layer(warp, 0, memory, first_); }

  // Writes the sums of the weights and the hidden biases to `params` [num_params].
  DRL_WARP void write(int warp, const Memory& memory, float* params) {
    const FusedPlan& plan = memory.plan();
    const WarpFloat unscaled = WarpFloat(scale_ == 0 ? 1.0f : 1 / scale_);
    each([&](WarpFloat x) { return x * unscaled; });
    const int last = memory.hidden_layers();
    write(warp, first_, params + plan.weight[0], plan.inputs, 1, plan.inputs);
    DRL_UNROLL
    for (int m = 1; m < kHidden; ++m)
      if (m < last) write(warp, hidden_[m - 1], params + plan.weight[m], kWidth, 1, kWidth);
    write(warp, last_, params + plan.weight[last], 1, kWidth, plan.outputs);
    if (warp >= kUnitGroups) return;
    DRL_UNROLL
    for (int m = 0; m < kHidden; ++m)
      if (m < last) write_bias(warp, bias_[m], params + plan.bias[m]);
  }

 private:
  static constexpr int kWidth = Memory::kWidth, kHidden = Memory::kHidden, kWarps = Memory::kWarps;
  static constexpr int kUnitGroups = kWidth / 16 < kWarps ? kWidth / 16 : kWarps, kSumGroups = kWarps / kUnitGroups;
  using Matrix = typename Memory::Matrix;

  DRL_WARP static int first_unit(int warp) { return 16 * (warp % kUnitGroups); }
  // Returns the first column of the other factor in the warp's n-th pair of sums.
  DRL_WARP static int first_summed_column(int warp, int n) {
    return 16 * (n * kSumGroups + (kSumGroups > 1 ? warp / kUnitGroups : 0));
  }

  // Adds A B to the warp's pairs of columns of B, whose rows are k to k + 15 of `right`.
  template <int kCount>
  DRL_WARP static void add_pairs(int warp, const typename Matrix::A& a, const Matrix& right, int k,
                                 PairSums<kCount>& sums) {
    DRL_UNROLL
    for (int n = 0; n < kCount; ++n) {
      const int column = first_summed_column(warp, n);
      if (column < right.order.columns) add_product<Factors>(sums.of[n], a, right.load_b(k, column));
    }
  }
  template <int kCount>
  DRL_WARP void add_layer(int warp, int layer, const Memory& memory, PairSums<kCount>& sums) {
    const Matrix z = memory.gradient_of(layer), from = memory.input_of(layer);
    const WarpBits ones =
        math::select(rows_of_lanes() == WarpInt(0), pack_halves<typename Factors::Format>(1.0f, 1.0f), WarpBits(0u));
    DRL_ROLLED
    for (int k = 0; k < kTileRows; k += 16) {
      const auto a = z.load_a_transposed(k, first_unit(warp));
      add_pairs(warp, a, from, k, sums);
      WarpFloat c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      DRL_UNROLL
      for (int p = Factors::kParts - 1; p >= 0; --p) {
        multiply_add<typename Factors::Format>(c, a.words[p], ones, ones);
        if (p > 0) {
          DRL_UNROLL
          for (WarpFloat& x : c) x = x * WarpFloat(1 / Factors::kSecondScale);
        }
      }
      bias_[layer][0] = bias_[layer][0] + c[0], bias_[layer][1] = bias_[layer][1] + c[2];
    }
  }
  // Writes sums [units, columns] to to[unit * unit_stride + column * column_stride], of `columns` columns.
  template <int kCount>
  DRL_WARP static void write(int warp, const PairSums<kCount>& sums, float* to, int unit_stride, int column_stride,
                             int columns) {
    DRL_UNROLL
    for (int n = 0; n < kCount; ++n) {
      const int first = first_summed_column(warp, n);
      DRL_UNROLL
      for (int k = 0; k < 8; ++k) {
        const WarpInt unit = rows_of_lanes() + WarpInt(first_unit(warp) + k % 4 / 2 * 8),
                      column = columns_of_lanes() + WarpInt(first + k / 4 * 8 + k % 2);
        store_at(to, unit * WarpInt(unit_stride) + column * WarpInt(column_stride), sums.of[n][k / 4][k % 4],
                 column < WarpInt(columns));
      }
    }
  }
  DRL_WARP static void write_bias(int warp, const WarpFloat (&sums)[2], float* to) {
    DRL_UNROLL
    for (int half = 0; half < 2; ++half)
      store_at(to, rows_of_lanes() + WarpInt(first_unit(warp) + 8 * half), sums[half],
               columns_of_lanes() == WarpInt(0));
  }

  template <class Change>
  DRL_WARP void each(const Change& change) {
    first_.each(change), last_.each(change);
    DRL_UNROLL
    for (auto& matrix : hidden_) matrix.each(change);
    DRL_UNROLL
    for (auto& layer : bias_) {
      DRL_UNROLL
      for (WarpFloat& x : layer) x = change(x);
    }
  }

  float scale_;
  PairSums<kShape.inputs / 16 / kSumGroups> first_;
  PairSums<kWidth / 16 / kSumGroups> hidden_[kHidden - 1];
  PairSums<kShape.outputs / 16 / kSumGroups> last_;  // transposed: [units, outputs]
  WarpFloat bias_[kHidden][2];  // of two units: in a product C's first column, which every fourth thread holds
};

}  // namespace drl
