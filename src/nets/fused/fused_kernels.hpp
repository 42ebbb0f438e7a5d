// The passes of one layer over a tile of rows, for CPUs. PackWeights arranges the weights in the order in which the
// product blocks read them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nets/fused/activations.hpp"
#include "nets/fused/layer_norm.hpp"
#include "nets/fused/products.hpp"
#include "nets/fused/rows.hpp"

namespace drl {

// Up to this many outputs, registers that hold consecutive inputs are faster than registers that hold consecutive
// outputs.
inline constexpr int kFewOutputs = 6;

// One layer of a network, with copies of its weights. `forward` and `backward` are matrices [steps, columns] that are
// stored as panels of a few columns, one panel after the other. Their elements are words (products.hpp).
struct FusedLayer {
  int inputs, outputs;
  int64_t in_stride, out_stride;   // floats from one row to the next
  float* forward;                  // a column per output, a step per word of inputs
  float* backward;                 // a column per input, a step per word of outputs
  float* bias;                     // [padded(outputs)]
  float* by_output;                // [outputs, in_stride], for a last layer with few outputs; else null
  float *norm_weight, *norm_bias;  // [padded(outputs)], for a hidden layer with layer norm; else null
  bool has_pair_instruction;       // the CPU has an instruction for products of bfloat16 pairs
};

// Writes a layer's copies of its weights [outputs, inputs] and biases.
template <class Numbers>
struct PackWeights {
  FusedLayer layer;
  const float *weight, *bias, *norm_weight, *norm_bias;
  DRL_HD void operator()(int64_t) const {
    const FusedLayer& l = layer;
    pad(bias, l.bias);
    if (l.norm_weight) pad(norm_weight, l.norm_weight), pad(norm_bias, l.norm_bias);
    if (l.by_output) {
      for (int64_t j = 0; j < l.outputs; ++j)
        for (int64_t k = 0; k < l.in_stride; ++k)
          l.by_output[j * l.in_stride + k] = k < l.inputs ? weight[j * l.inputs + k] : 0;
    } else {
      pack(l.outputs, l.inputs, l.inputs, 1, l.forward);
      pack(l.inputs, l.outputs, 1, l.inputs, l.backward);
    }
  }

 private:
  DRL_HD void pad(const float* from, float* to) const {
    for (int64_t j = 0; j < padded(layer.outputs); ++j) to[j] = j < layer.outputs ? from[j] : 0;
  }
  // Writes panels whose element (column, step) is weight[column * column_stride + step * step_stride]; padding is 0.
  DRL_HD void pack(int64_t columns, int64_t steps, int64_t column_stride, int64_t step_stride, float* out) const {
    for_each_panel(columns, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      constexpr int64_t width = N * kFloatLanes, per_word = Numbers::kPerWord;
      float* panel = out + first * words<Numbers>(steps);
      if (first + width <= columns) {
        for (int64_t k = 0; k < words<Numbers>(steps); ++k)
          for (int v = 0; v < N; ++v) {
            const auto numbers = [&](int64_t step) DRL_LAMBDA {
              using F = math::Floats;
              if (step >= steps) return F(0);
              const float* from = weight + (first + v * kFloatLanes) * column_stride + step * step_stride;
              return column_stride == 1 ? load<F>(from) : load_strided<F>(from, column_stride);
            };
            float* to = panel + k * width + v * kFloatLanes;
            if constexpr (per_word == 1) store(to, numbers(k));
            if constexpr (per_word == 2) store(to, word_of(numbers(2 * k), numbers(2 * k + 1)));
          }
        return;
      }
      for (int64_t j = 0; j < width; ++j)
        for (int64_t k = 0; k < words<Numbers>(steps); ++k) {
          const float* from = weight + (first + j) * column_stride + k * per_word * step_stride;
          const auto number = [&](int64_t of) DRL_LAMBDA {
            return first + j < columns && k * per_word + of < steps ? from[of * step_stride] : 0.0f;
          };
          if constexpr (per_word == 1) panel[k * width + j] = number(0);
          if constexpr (per_word == 2) panel[k * width + j] = word_of(number(0), number(1));
        }
    });
  }
  template <class F>
  DRL_HD static F word_of(F lower, F upper) {
    return bit_cast<F>(rounded_to_bf16(lower) >> 16 | rounded_to_bf16(upper));
  }
};

// Computes y = f(sums) for rows 48 i to 48 i + 47, and stores the sums if f's backward pass needs them. x has words by
// row: a pair holds neighbours in a row.
template <class Numbers, class A>
struct LayerForward {
  FusedLayer layer;
  const float* x;
  float *sums, *y;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    const int64_t stride = words<Numbers>(l.in_stride), steps = words<Numbers>(l.inputs);
    float* before = A::kFromOutput ? y : sums;
    for_each_panel(l.outputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      const float* from = x + i * kRowBlock * stride;
      float* to = before + i * kRowBlock * l.out_stride + first;
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>) {
        multiply_block<Numbers, kBlockRows<N>, N>(
            {from, stride, 1, l.forward + first * steps, N * kFloatLanes, steps, l.bias + first},
            l.has_pair_instruction,
            [&](int r, int v, math::Floats sum) DRL_LAMBDA { store(to + r * l.out_stride + v * kFloatLanes, sum); });
        from += kBlockRows<N> * stride, to += kBlockRows<N> * l.out_stride;
      }
    });
    const int64_t from = i * kRowBlock * l.out_stride;
    if constexpr (!std::is_same_v<A, Linear>) activate<A>(before + from, y + from, end * l.out_stride - from);
  }
};

// Computes rows 48 i to 48 i + 47 of out [rows, outputs], for a layer with few outputs and no activation, in floats. It
// may read rows of x beyond the last one.
struct FewOutputs {
  FusedLayer layer;
  const float* x;
  float* out;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    for (int64_t row = i * kRowBlock; row < end; row += kFloatLanes)
      for (int64_t j = 0; j < layer.outputs; ++j) {
        const math::Floats sums = sums_of_rows(x + row * layer.in_stride, layer.by_output + j * layer.in_stride);
        float* to = out + row * layer.outputs + j;
        const math::Floats y = math::Floats(layer.bias[j]) + sums;
        if (row + kFloatLanes > end) {
          for (int r = 0; row + r < end; ++r) to[r * layer.outputs] = lane(y, r);
        } else if (layer.outputs > 1) {
          store_strided(to, layer.outputs, y);
        } else {
          store(to, y);
        }
      }
  }

 private:
  // Returns the weighted sums of kFloatLanes rows, one per lane. Each sum is accumulated in sixteen lanes, whose halves
  // are then added repeatedly.
  DRL_HD math::Floats sums_of_rows(const float* from, const float* weight) const {
    using F = math::Floats;
    constexpr int n = kPadded / kFloatLanes;
    F sums[kFloatLanes][n];
    for (int v = 0; v < n; ++v) {
      for (int r = 0; r < kFloatLanes; ++r) sums[r][v] = F(0);
      for (int64_t k = v * kFloatLanes; k < layer.in_stride; k += kPadded) {
        const F w = load<F>(weight + k);
        for (int r = 0; r < kFloatLanes; ++r)
          sums[r][v] = math::fma(load<F>(from + r * layer.in_stride + k), w, sums[r][v]);
      }
    }
    F of_rows[kFloatLanes];
    for (int r = 0; r < kFloatLanes; ++r) of_rows[r] = in_one_register(sums[r]);
    return sums_of_lanes<kFloatLanes / 2>(of_rows);
  }
};

// The backward pass of a layer with few outputs, for rows 48 i to 48 i + 47. Computes dx, the gradient with respect to
// the input of A, from dy [rows, outputs]. A is the activation of the previous layer. `from` holds A's outputs if
// A::kFromOutput, otherwise A's inputs.
template <class A>
struct FewBackward {
  FusedLayer layer;
  const float *dy, *from;
  float* dx;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    using F = math::Floats;
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    for (int64_t k = 0; k < l.in_stride; k += kFloatLanes) {
      const F first = load<F>(l.by_output + k);
      for (int64_t row = i * kRowBlock; row < end; ++row) {
        F sum = F(dy[row * l.outputs]) * first;
        for (int64_t j = 1; j < l.outputs; ++j)
          sum = math::fma(F(dy[row * l.outputs + j]), load<F>(l.by_output + j * l.in_stride + k), sum);
        const int64_t at = row * l.in_stride + k;
        store(dx + at, A::backward(sum, load<F>(from + at)));
      }
    }
  }
};

// The same for a layer with many outputs. dy, the gradient with respect to the layer's sums, has words by row.
template <class Numbers, class A>
struct LayerBackward {
  FusedLayer layer;
  const float *dy, *from;
  float* dx;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    const int64_t stride = words<Numbers>(l.out_stride), steps = words<Numbers>(l.outputs);
    for_each_panel(l.inputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      const float* row_of_dy = dy + i * kRowBlock * stride;
      int64_t to = i * kRowBlock * l.in_stride + first;
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>) {
        multiply_block<Numbers, kBlockRows<N>, N>(
            {row_of_dy, stride, 1, l.backward + first * steps, N * kFloatLanes, steps, nullptr}, l.has_pair_instruction,
            [&](int r, int v, math::Floats sum) DRL_LAMBDA {
              const int64_t at = to + r * l.in_stride + v * kFloatLanes;
              store(dx + at, A::backward(sum, load<math::Floats>(from + at)));
            });
        row_of_dy += kBlockRows<N> * stride, to += kBlockRows<N> * l.in_stride;
      }
    });
  }
};

// Adds a layer's weight gradient, summed over the rows, for outputs 12 i to 12 i + 11. x and dy have words by column:
// a pair holds neighbours in a column.
template <class Numbers>
struct WeightGradient {
  static constexpr int64_t kOutputs = 12;
  FusedLayer layer;
  const float *x, *dy;
  int64_t rows;
  float* d_weight;  // [outputs, inputs]
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kOutputs < l.outputs ? (i + 1) * kOutputs : l.outputs;
    for_each_panel(l.inputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      for_each_block<N>(i * kOutputs, end, [&]<int Outputs>(int64_t output, Registers<Outputs>) DRL_LAMBDA {
        multiply_block<Numbers, Outputs, N>(
            {dy + output, 1, l.out_stride, x + first, l.in_stride, words<Numbers>(rows), nullptr},
            l.has_pair_instruction, [&](int j, int v, math::Floats sum) DRL_LAMBDA {
              if (output + j < end) add_to_row(d_weight + (output + j) * l.inputs, first + v * kFloatLanes, sum);
            });
      });
    });
  }

 private:
  // If the row ends within a register, the remaining lanes are padding and are ignored.
  DRL_HD void add_to_row(float* row, int64_t first, math::Floats sum) const {
    if (first + kFloatLanes <= layer.inputs) return store(row + first, load<math::Floats>(row + first) + sum);
    for (int64_t k = first; k < layer.inputs; ++k) row[k] += lane(sum, static_cast<int>(k - first));
  }
};

// Adds the same gradient for inputs 12 i to 12 i + 11, with registers that hold consecutive outputs. It is used if the
// outputs fill registers better than the inputs, which WeightGradient holds in registers.
template <class Numbers>
struct NarrowWeightGradient {
  static constexpr int64_t kInputs = 12;
  FusedLayer layer;
  const float *x, *dy;
  int64_t rows;
  float* d_weight;
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kInputs < l.inputs ? (i + 1) * kInputs : l.inputs;
    for_each_panel(l.outputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      for_each_block<N>(i * kInputs, end, [&]<int Inputs>(int64_t input, Registers<Inputs>) DRL_LAMBDA {
        multiply_block<Numbers, Inputs, N>(
            {x + input, 1, l.in_stride, dy + first, l.out_stride, words<Numbers>(rows), nullptr},
            l.has_pair_instruction, [&](int k, int v, math::Floats sum) DRL_LAMBDA {
              if (input + k >= end) return;
              alignas(64) float each[kFloatLanes];
              store(each, sum);
              const int64_t output = first + v * kFloatLanes;
              for (int64_t j = 0; j < kFloatLanes && output + j < l.outputs; ++j)
                d_weight[(output + j) * l.inputs + input + k] += each[j];
            });
      });
    });
  }
};

}  // namespace drl
