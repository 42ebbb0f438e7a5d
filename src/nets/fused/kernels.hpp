// The passes of one layer over a tile of rows, as function objects of a CPU: matrix products by blocks that stay in
// registers from the first multiply-add to the activation that follows. Numbers of a row lie side by side, each row on
// whole registers; weights lie as the blocks read them (PackWeights).
//
// Every number is one sum in one order, whatever the instruction set: along a layer's inputs, its outputs, or rows.
#pragma once

#include <cstdint>

#include "nets/activation.hpp"
#include "nets/kernels.hpp"

namespace drl {

inline constexpr int64_t kPadded = 16;    // floats that widths of rows are multiples of: a register's at most
inline constexpr int64_t kRowBlock = 48;  // rows that a function object does at once: whole blocks of every shape

constexpr int64_t padded(int64_t width) { return (width + kPadded - 1) / kPadded * kPadded; }

// One layer of a network. The weights are copies: by panels of columns side by side, each [steps, its columns].
struct FusedLayer {
  int inputs, outputs;
  int64_t in_stride, out_stride;  // floats from one row to the next
  float* forward;                 // by panels of outputs; the steps are inputs
  float* backward;                // by panels of inputs; the steps are outputs
  float* bias;                    // [padded(outputs)]
};

inline namespace DRL_ISA {

// Registers of a block side by side: as many accumulators as there are registers for, and the operands. Enough of them
// to hide the latency of multiply-adds (4 cycles, two at once).
#if defined(__AVX512F__) || defined(__ARM_NEON)
template <int Registers>
inline constexpr int kBlockRows = Registers == 4 ? 6 : 12;
inline constexpr int kWidest = 4;
#elif defined(__AVX2__)
template <int Registers>
inline constexpr int kBlockRows = 6;
inline constexpr int kWidest = 2;
#else
template <int Registers>
inline constexpr int kBlockRows = 4;
inline constexpr int kWidest = 2;
#endif

template <int N>
struct Registers {
  static constexpr int value = N;
};

// Calls body(first column, Registers<N>{}) for panels of N registers that make up `columns`, the widest first.
template <class Body>
DRL_HD void for_each_panel(int64_t columns, Body&& body) {
  constexpr int64_t lanes = kFloatLanes;
  int64_t first = 0;
  if constexpr (kWidest == 4)
    for (; first + 4 * lanes <= padded(columns); first += 4 * lanes) body(first, Registers<4>{});
  for (; first + 2 * lanes <= padded(columns); first += 2 * lanes) body(first, Registers<2>{});
  for (; first < padded(columns); first += lanes) body(first, Registers<1>{});
}

// Calls end(row, register, sum) for each of the sums begin[column] + a[row, 0] b[0, column] + a[row, 1] b[1, column] +
// ..., of Rows rows and N registers of columns. `begin` may be null: zeros.
template <int Rows, int N, class End>
DRL_HD void multiply_block(const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t b_step, int64_t steps,
                           const float* begin, End&& end) {
  using F = math::Floats;
  F sums[Rows][N];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) sums[r][v] = begin ? load<F>(begin + v * kFloatLanes) : F(0);
  for (int64_t k = 0; k < steps; ++k) {
    F row_of_b[N];
    for (int v = 0; v < N; ++v) row_of_b[v] = load<F>(b + k * b_step + v * kFloatLanes);
    for (int r = 0; r < Rows; ++r) {
      const F one_of_a(a[r * a_row + k * a_step]);
      for (int v = 0; v < N; ++v) sums[r][v] = math::fma(one_of_a, row_of_b[v], sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) end(r, v, sums[r][v]);
}

}  // namespace DRL_ISA

// A layer's copies of its weights [outputs, inputs] and biases.
struct PackWeights {
  FusedLayer layer;
  const float *weight, *bias;
  DRL_HD void operator()(int64_t) const {
    const FusedLayer& l = layer;
    for (int64_t j = 0; j < padded(l.outputs); ++j) l.bias[j] = j < l.outputs ? bias[j] : 0;
    for_each_panel(l.outputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      constexpr int64_t columns = N * kFloatLanes;
      float* to = l.forward + first * l.inputs;
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t k = 0; k < l.inputs; ++k)
          to[k * columns + j] = first + j < l.outputs ? weight[(first + j) * l.inputs + k] : 0;
    });
    for_each_panel(l.inputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      constexpr int64_t columns = N * kFloatLanes;
      float* to = l.backward + first * l.outputs;
      for (int64_t k = 0; k < l.outputs; ++k)
        for (int64_t j = 0; j < columns; ++j)
          to[k * columns + j] = first + j < l.inputs ? weight[k * l.inputs + first + j] : 0;
    });
  }
};

// Rows of a network's inputs, normalised.
struct GatherPadded {
  Rows rows;
  int64_t inputs, stride;
  float* out;
  DRL_HD void operator()(int64_t row) const {
    const float* from = rows.data + (rows.index ? rows.index[row] : row) * inputs;
    float* to = out + row * stride;
    for (int64_t k = 0; k < inputs; ++k) to[k] = rows.normalizer(from[k], k);
  }
};
// Rows of `width` numbers from where they lie `from_stride` apart.
struct CopyRows {
  const float* from;
  float* to;
  int64_t width, from_stride, to_stride;
  DRL_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < width; ++k) to[row * to_stride + k] = from[row * from_stride + k];
  }
};

struct Linear {  // of the last layer
  static constexpr bool kFromOutput = true;
  template <class F>
  DRL_HD static F value(F x) {
    return x;
  }
  template <class F>
  DRL_HD static F backward(F d, F) {
    return d;
  }
};

// Outputs y = f(sums) of rows 48 i to 48 i + 47, and the sums themselves if f's way back needs them.
template <class A>
struct LayerForward {
  FusedLayer layer;
  const float* x;
  float *sums, *y;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    for_each_panel(l.outputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>)
        multiply_block<kBlockRows<N>, N>(x + row * l.in_stride, l.in_stride, 1, l.forward + first * l.inputs,
                                         N * kFloatLanes, l.inputs, l.bias + first,
                                         [&](int r, int v, math::Floats sum) DRL_LAMBDA {
                                           const int64_t at = (row + r) * l.out_stride + first + v * kFloatLanes;
                                           if constexpr (!A::kFromOutput) store(sums + at, sum);
                                           store(y + at, A::value(sum));
                                         });
    });
  }
};

// From the gradient dy with respect to a layer's sums to that of the sums whose activation A are its inputs; rows as
// above. `from`: those sums, or the inputs, as A::backward asks.
template <class A>
struct LayerBackward {
  FusedLayer layer;
  const float *dy, *from;
  float* dx;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const FusedLayer& l = layer;
    const int64_t end = (i + 1) * kRowBlock < rows ? (i + 1) * kRowBlock : rows;
    for_each_panel(l.inputs, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>)
        multiply_block<kBlockRows<N>, N>(dy + row * l.out_stride, l.out_stride, 1, l.backward + first * l.outputs,
                                         N * kFloatLanes, l.outputs, nullptr,
                                         [&](int r, int v, math::Floats sum) DRL_LAMBDA {
                                           const int64_t at = (row + r) * l.in_stride + first + v * kFloatLanes;
                                           store(dx + at, A::backward(sum, load<math::Floats>(from + at)));
                                         });
    });
  }
};

// Adds a layer's weight gradient over the rows, of outputs 12 i to 12 i + 11.
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
      const auto add = [&]<int Outputs>(int64_t output, Registers<Outputs>) DRL_LAMBDA {
        multiply_block<Outputs, N>(dy + output, 1, l.out_stride, x + first, l.in_stride, rows, nullptr,
                                   [&](int j, int v, math::Floats sum) DRL_LAMBDA {
                                     if (output + j < end)
                                       add_some(d_weight + (output + j) * l.inputs, first + v * kFloatLanes, sum);
                                   });
      };
      int64_t output = i * kOutputs;
      for (; output + 2 < end; output += kBlockRows<N>) add(output, Registers<kBlockRows<N>>{});
      if (output < end) add(output, Registers<2>{});
    });
  }

 private:
  // Where the row ends within a register, the rest is of no input.
  DRL_HD void add_some(float* row, int64_t first, math::Floats sum) const {
    if (first + kFloatLanes <= layer.inputs) return store(row + first, load<math::Floats>(row + first) + sum);
    for (int64_t k = first; k < layer.inputs; ++k) row[k] += lane(sum, static_cast<int>(k - first));
  }
};

// The same of a layer with so few inputs that they would leave registers empty, of inputs 12 i to 12 i + 11: outputs
// side by side.
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
      for (int64_t input = i * kInputs; input < end; input += kBlockRows<N>)
        multiply_block<kBlockRows<N>, N>(x + input, 1, l.in_stride, dy + first, l.out_stride, rows, nullptr,
                                         [&](int k, int v, math::Floats sum) DRL_LAMBDA {
                                           if (input + k >= end) return;
                                           alignas(64) float each[kFloatLanes];
                                           store(each, sum);
                                           const int64_t output = first + v * kFloatLanes;
                                           for (int64_t j = 0; j < kFloatLanes && output + j < l.outputs; ++j)
                                             d_weight[(output + j) * l.inputs + input + k] += each[j];
                                         });
    });
  }
};

// Adds the gradient of the biases: sums of every fourth row, and of these.
struct BiasGradient {
  const float* dy;
  int64_t stride, rows;
  float* d_bias;
  template <class F>
  DRL_HD void lanes(int64_t output) const {
    F sums[4] = {F(0), F(0), F(0), F(0)};
    for (int64_t row = 0; row < rows; row += 4)
      for (int64_t r = 0; r < 4; ++r)
        if (row + r < rows) sums[r] += load<F>(dy + (row + r) * stride + output);
    store(d_bias + output, load<F>(d_bias + output) + ((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
};

}  // namespace drl
