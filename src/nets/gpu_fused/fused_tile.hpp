// The passes of a block over a tile of samples. Each function is the work of a warp or a thread in a phase
// (device/blocks.hpp); the kernels have the order of the phases.
#pragma once

#include <cstdint>
#include <type_traits>

#include "drl/lanes/hd.hpp"
#include "nets/activation.hpp"
#include "nets/batch.hpp"
#include "nets/gpu_fused/fused_sums.hpp"

namespace drl {

// The value of an activation by the special function unit. math::exp and math::tanh are bit-identical everywhere, but
// take ten times as many instructions.
template <class A>
DRL_WARP WarpFloat fast_activation(WarpFloat x) {
  const WarpFloat one = WarpFloat(1.0f);
  constexpr float log2_e = 1.44269504f;
  if constexpr (std::is_same_v<A, Tanh>) {  // 1 - 2 / (1 + exp(2 x))
    return one - WarpFloat(2.0f) * fast_reciprocal(one + fast_exp2(x * WarpFloat(2 * log2_e)));
  } else if constexpr (std::is_same_v<A, Elu>) {
    return math::select(x > WarpFloat(0.0f), x, fast_exp2(math::min(x, WarpFloat(0.0f)) * WarpFloat(log2_e)) - one);
  } else {
    return A::value(x);
  }
}

// Calls use(Tanh{}), use(Elu{}) or use(Relu{}).
template <class Use>
DRL_WARP void with_fast_activation(Activation activation, const Use& use) {
  if (activation == Activation::tanh) {
    use(Tanh{});
  } else if (activation == Activation::elu) {
    use(Elu{});
  } else {
    use(Relu{});
  }
}

template <FusedShape kShape, class Factors>
class FusedTile : public FusedMemory<kShape, Factors> {
 public:
  using Memory = FusedMemory<kShape, Factors>;
  using Sums = FusedSums<kShape, Factors>;
  using Memory::kWidth, Memory::kWarps, Memory::kHidden, Memory::hidden_layers, Memory::outputs;

  // In forward and backward passes, a warp has 16 samples and kPairs * 16 units.
  static constexpr int kRowGroups = kTileRows / 16, kColumns = kWidth / (kWarps / kRowGroups), kPairs = kColumns / 16;
  // The pairs that a warp computes at once, alone and beside its sums: not all, if no registers are left for them.
  static constexpr int kPairsAlone = kWidth == 128 && Factors::kParts > 1 ? kPairs / 2 : kPairs;
  static constexpr int kPairsBesideSums = kWidth == 128 && kHidden == 3 ? kPairs / 2 : kPairsAlone;
  // The loop over products is unrolled if its length is known and registers suffice.
  static constexpr int kUnrolledProducts = kShape.exact && Factors::kParts == 1 ? kWidth / 16 : 0;

  using Memory::Memory;

  // --- Phases of threads ---

  template <int kThreads>
  DRL_WARP void copy_weights(int thread, const uint32_t* packed) const {
    struct alignas(16) Chunk {
      uint32_t words[4];
    };
    const auto* from = reinterpret_cast<const Chunk*>(packed);
    auto* to = reinterpret_cast<Chunk*>(words_);
    for (int i = thread; i < places().packed_words / 4; i += kThreads) to[i] = from[i];
  }
  // Loads the normalised inputs of the rows that load_index has found; the other rows become 0. Limits them to what a
  // factor can hold.
  template <int kThreads>
  DRL_WARP void load_inputs(int thread, const Rows& rows) const {
    constexpr float largest = Factors::Format::kLargest;
    constexpr int kAtOnce = kTileRows * 8 / kThreads;  // words whose loads do not wait for each other
    const int columns = input_columns(), log2_words = columns == 16 ? 3 : columns == 32 ? 4 : 5;
    const Matrix x = matrix(places().x, kTileRows, columns);
    for (int i = thread; i < kTileRows << log2_words; i += kAtOnce * kThreads) {
      const int column = (i & (columns / 2 - 1)) * 2;  // of all these words
      int64_t at[kAtOnce];
      float numbers[kAtOnce][2];
      DRL_UNROLL
      for (int w = 0; w < kAtOnce; ++w) at[w] = index()[(i + w * kThreads) >> log2_words];
      DRL_UNROLL
      for (int w = 0; w < 2 * kAtOnce; ++w) {
        const int k = column + w % 2;
        numbers[w / 2][w % 2] = at[w / 2] >= 0 && k < plan_.inputs ? rows.data[at[w / 2] * plan_.inputs + k] : 0.0f;
      }
      DRL_UNROLL
      for (int w = 0; w < kAtOnce; ++w) {
        DRL_UNROLL
        for (int k = 0; k < 2; ++k)
          if (at[w] >= 0 && column + k < plan_.inputs)
            numbers[w][k] = math::clamp(rows.normalizer(numbers[w][k], column + k), -largest, largest);
        x.store_two((i + w * kThreads) >> log2_words, column, numbers[w][0], numbers[w][1]);
      }
    }
  }

  // --- Phases of warps ---

  // Returns the observations' numbers of tile `number`, -1 where there is none; store_index keeps them for load_inputs
  // and compute_loss. A kernel does so for the next tile after the loss.
  DRL_WARP WarpInt load_index(int warp, const Rows& rows, int64_t number) const {
    WarpInt at(-1);
    if (warp < kTileRows / 32)
      for_each_lane(32, [&](int l) {
        const int64_t i = number * kTileRows + warp * 32 + l;
        if (i < rows.count) set_lane(at, l, rows.index ? rows.index[i] : static_cast<int32_t>(i));
      });
    return at;
  }
  DRL_WARP void store_index(int warp, WarpInt at) const {
    if (warp < kTileRows / 32) store_at(index(), warp_lanes() + WarpInt(32 * warp), at);
  }
  // Computes the outputs of a hidden layer.
  template <int kPairsAtOnce = kPairsAlone>
  DRL_WARP void forward(int warp, int layer) const {
    const int row = first_row(warp);
    DRL_ROLLED
    for (int part = 0; part < kPairs / kPairsAtOnce; ++part) {
      const int column = first_column(warp) + 16 * kPairsAtOnce * part;
      WarpFloat c[2 * kPairsAtOnce][4];
      DRL_UNROLL
      for (int j = 0; j < 2 * kPairsAtOnce; ++j) start_at_bias(layer, column + 8 * j, c[j]);
      const Matrix from = input_of(layer), by = weights(layer);
      DRL_ROLLED_IF_LONG(kUnrolledProducts)
      for (int k = 0; k < from.order.columns; k += 16) {
        const auto a = from.load_a(row, k);
        DRL_UNROLL
        for (int pair = 0; pair < kPairsAtOnce; ++pair)
          add_product<Factors>(c + 2 * pair, a, by.load_b_transposed(column + 16 * pair, k));
      }
      const Matrix to = hidden(layer);
      with_fast_activation(kShape.exact ? kShape.activation : plan_.shape.activation, [&]<class A>(A) {
        DRL_UNROLL
        for (int j = 0; j < 2 * kPairsAtOnce; ++j) {
          DRL_UNROLL
          for (WarpFloat& x : c[j]) x = fast_activation<A>(x);
          store(to, row, column + 8 * j, c[j]);
        }
      });
    }
  }
  // Computes the network's outputs, floats [kTileRows, outputs].
  DRL_WARP void compute_outputs(int warp) const {
    if (warp >= kRowGroups) return;
    const int layer = hidden_layers(), row = first_row(warp);
    const Matrix from = input_of(layer), by = weights(layer);
    for (int column = 0; column < output_columns(); column += 16) {
      WarpFloat c[2][4];
      DRL_UNROLL
      for (int j = 0; j < 2; ++j) start_at_bias(layer, column + 8 * j, c[j]);
      for (int k = 0; k < kWidth; k += 16)
        add_product<Factors>(c, from.load_a(row, k), by.load_b_transposed(column, k));
      DRL_UNROLL
      for (int k = 0; k < 8; ++k) {
        const WarpInt unit = WarpInt(column + k / 4 * 8 + k % 2) + columns_of_lanes();
        store_at(outputs(), (rows_of_lanes() + WarpInt(row + k % 4 / 2 * 8)) * WarpInt(plan_.outputs) + unit,
                 c[k / 4][k % 4], unit < WarpInt(plan_.outputs));
      }
    }
  }
  // Calls the loss for the warp's samples, and adds to the sums of its columns.
  template <class Loss>
  DRL_WARP void compute_loss(int warp, const Loss& loss) const {
    if (warp >= kRowGroups) return;
    sync_warp();
    for_each_lane(16, [&](int l) {
      const int row = first_row(warp) + l;
      float *d = d_out() + row * plan_.outputs, largest = 0;
      if (index()[row] >= 0) {
        RowSums sums{floats(plan_.sums) + row};
        loss(row, index(), outputs(), d_out(), sums);
      } else {
        for (int k = 0; k < plan_.outputs; ++k) d[k] = 0;
      }
      RowSums of_outputs{floats(plan_.sums) + plan_.num_columns() * kTileRows + row};
      for (int k = 0; k < plan_.outputs; ++k) {
        of_outputs.add(k, d[k]);
        largest = math::max(largest, math::abs(d[k]));
      }
      floats(plan_.largest)[row] = largest;
    });
  }
  // Rounds d_out to factors, multiplied by a power of two that brings them into the range of halves. If a tile has much
  // larger numbers than the tiles before, the power is lowered and the sums so far are multiplied accordingly.
  DRL_WARP void round_d(int warp, Sums& sums) const {
    const WarpFloat one = gather<WarpFloat>(floats(plan_.largest), warp_lanes()),
                    other = gather<WarpFloat>(floats(plan_.largest) + 32, warp_lanes());
    const float scale = scale_for(lane(warp_max(math::max(one, other)), 0), sums.scale());
    if (scale != sums.scale()) sums.rescale(scale);
    if (warp >= kRowGroups) return;
    // A thread has one of the row's first 16 columns in every fourth row, and column + 16 if there are 32.
    const int columns = output_columns();
    const Matrix to = matrix(places().d, kTileRows, columns);
    for_each_lane(32, [&](int l) {
      for (int k = 0; k < columns; k += 16) {
        const int column = l % 8 * 2 + k;
        DRL_UNROLL
        for (int row = first_row(warp) + l / 8; row < first_row(warp) + 16; row += 4) {
          const float* d = d_out() + row * plan_.outputs + column;
          to.store_two(row, column, column < plan_.outputs ? d[0] * scale : 0.0f,
                       column + 1 < plan_.outputs ? d[1] * scale : 0.0f);
        }
      }
    });
  }
  // Replaces the outputs of the hidden layer below `layer` by the loss's gradient with respect to this layer's sums.
  DRL_WARP void backward(int warp, int layer) const {
    const int row = first_row(warp);
    DRL_ROLLED
    for (int part = 0; part < kPairs / kPairsBesideSums; ++part) {
      const int column = first_column(warp) + 16 * kPairsBesideSums * part;
      WarpFloat c[2 * kPairsBesideSums][4];
      clear(c);
      const Matrix from = gradient_of(layer), by = weights(layer);
      DRL_ROLLED_IF_LONG(kUnrolledProducts)
      for (int k = 0; k < from.order.columns; k += 16) {
        const auto a = from.load_a(row, k);
        DRL_UNROLL
        for (int pair = 0; pair < kPairsBesideSums; ++pair)
          add_product<Factors>(c + 2 * pair, a, by.load_b(k, column + 16 * pair));
      }
      const Matrix to = hidden(layer - 1);
      with_fast_activation(kShape.exact ? kShape.activation : plan_.shape.activation, [&]<class A>(A) {
        DRL_UNROLL
        for (int j = 0; j < 2 * kPairsBesideSums; ++j) {
          WarpFloat y[4];
          for (int half = 0; half < 2; ++half)
            to.load_two(rows_of_lanes() + WarpInt(row + 8 * half), columns_of_lanes() + WarpInt(column + 8 * j),
                        y[2 * half], y[2 * half + 1]);
          DRL_UNROLL
          for (int k = 0; k < 4; ++k) c[j][k] = A::backward(c[j][k], y[k]);
          store(to, row, column + 8 * j, c[j]);
        }
      });
    }
  }
  // Phases of threads: clear the sums of the loss's columns, and write them to `columns` and to the last bias.
  template <int kThreads>
  DRL_WARP void clear_columns(int thread) const {
    for (int i = thread; i < plan_.num_sums() * kTileRows; i += kThreads) floats(plan_.sums)[i] = 0;
  }
  template <int kThreads>
  DRL_WARP void write_columns(int thread, float* params, float* columns) const {
    const int of_loss = plan_.num_columns();
    for (int c = thread; c < plan_.num_sums(); c += kThreads) {
      double sum = 0;
      for (int row = 0; row < kTileRows; ++row) sum += double{floats(plan_.sums)[c * kTileRows + row]};
      (c < of_loss ? columns[c] : params[plan_.bias[hidden_layers()] + c - of_loss]) = static_cast<float>(sum);
    }
  }

 private:
  using Memory::plan_, Memory::words_, Memory::places, Memory::input_columns, Memory::output_columns, Memory::floats,
      Memory::index, Memory::d_out, Memory::matrix, Memory::weights, Memory::hidden, Memory::input_of,
      Memory::gradient_of;
  using typename Memory::Matrix;

  struct RowSums {  // of a sample's place in the tiles
    float* memory;
    DRL_HD void add(int column, float x) { memory[column * kTileRows] += x; }
  };

  DRL_WARP static int first_row(int warp) { return 16 * (warp % kRowGroups); }
  DRL_WARP static int first_column(int warp) { return kColumns * (warp / kRowGroups); }
  template <int kCount>
  DRL_WARP static void clear(WarpFloat (&c)[kCount][4]) {
    DRL_UNROLL
    for (auto& fragment : c) {
      DRL_UNROLL
      for (WarpFloat& x : fragment) x = WarpFloat(0.0f);
    }
  }
  DRL_WARP void start_at_bias(int layer, int unit, WarpFloat (&c)[4]) const {
    const uint32_t* bias = words_ + places().packed_bias[layer] + unit;
    DRL_UNROLL
    for (int k = 0; k < 4; ++k) c[k] = bit_cast<WarpFloat>(gather<WarpBits>(bias + k % 2, columns_of_lanes()));
  }
  DRL_WARP static void store(const Matrix& to, int row, int column, const WarpFloat (&c)[4]) {
    DRL_UNROLL
    for (int half = 0; half < 2; ++half)
      to.store(rows_of_lanes() + WarpInt(row + 8 * half), columns_of_lanes() + WarpInt(column), c[2 * half],
               c[2 * half + 1]);
  }

  // Returns the power of two for a tile whose largest number is `largest`. It brings that to [4, 8), so that the
  // gradients of layers below may be 2^13 times as large; it is kept while numbers stay below 64.
  DRL_WARP static float scale_for(float largest, float scale) {
    if (!(largest > 0 && largest <= 3.4028234e38f)) return scale;  // all are 0, or the gradient is not finite
    if (scale != 0 && largest * scale < 64) return scale;
    const int exponent = static_cast<int>(bit_cast<uint32_t>(largest) >> 23) - 127;
    return bit_cast<float>(static_cast<uint32_t>(127 + 2 - math::max(exponent, -100)) << 23);
  }
};

}  // namespace drl
