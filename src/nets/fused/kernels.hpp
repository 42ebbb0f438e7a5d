// The passes of one layer over a tile of rows, as function objects of a CPU: matrix products by blocks that stay in
// registers from the first multiply-add to the activation that follows. Numbers of a row lie side by side, each row on
// whole registers; weights lie as the blocks read them (PackWeights).
//
// Every number is one sum in one order, whatever the instruction set: along a layer's inputs, its outputs, or rows.
//
// What is multiplied are floats, or pairs of bfloat16 (the upper halves of floats) that follow each other in a sum and
// have the place of one float, a word: half as many words for the same products. Sums are floats in both cases.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nets/activation.hpp"
#include "nets/kernels.hpp"

namespace drl {

inline constexpr int64_t kPadded = 16;    // floats that widths of rows are multiples of: a register's at most
inline constexpr int64_t kRowBlock = 48;  // rows that a function object does at once: whole blocks of every shape

inline constexpr int kFew = 6;  // outputs for which sums along the inputs are faster than registers of outputs

constexpr int64_t padded(int64_t width) { return (width + kPadded - 1) / kPadded * kPadded; }

struct Fp32 {
  static constexpr int64_t kPerWord = 1;
};
struct Bf16 {
  static constexpr int64_t kPerWord = 2;
};
template <class Numbers>
constexpr int64_t words(int64_t numbers) {
  return (numbers + Numbers::kPerWord - 1) / Numbers::kPerWord;
}

// One layer of a network. The weights are copies: by panels of columns side by side, each [steps, its columns].
struct FusedLayer {
  int inputs, outputs;
  int64_t in_stride, out_stride;  // floats from one row to the next
  float* forward;                 // by panels of outputs; the steps are words of inputs
  float* backward;                // by panels of inputs; the steps are words of outputs
  float* bias;                    // [padded(outputs)]
  float* by_output;               // [outputs, in_stride], of a last layer with few outputs; else null
  bool has_pair_instruction;      // the CPU multiplies pairs of bfloat16
};

inline namespace DRL_ISA {

// Registers of a block side by side: as many accumulators as there are registers for, and the operands. Enough of them
// to hide the latency of multiply-adds (4 cycles, two at once; of NEON four).
#if defined(__AVX512F__)
template <int Registers>
inline constexpr int kBlockRows = Registers == 4 ? 6 : 12;
inline constexpr int kWidest = 4;
#elif defined(__ARM_NEON)  // of 24 accumulators GCC would keep some in memory, since it loads many rows of `a` at once
template <int Registers>
inline constexpr int kBlockRows = 4;
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

// Sums begin[column] + a[row, 0] b[0, column] + a[row, 1] b[1, column] + ..., of Rows rows and N registers of columns.
// `begin` may be null: zeros.
struct Product {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_step, steps;
  const float* begin;
};

// multiply_add(sum, word of a, words of b).
template <int Rows, int N, class MultiplyAdd>
DRL_HD void multiply(const Product& p, math::Floats (&out)[Rows][N], const MultiplyAdd& multiply_add) {
  using F = math::Floats;
  F sums[Rows][N];  // not `out`, which GCC for Arm would write to memory at every step
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) sums[r][v] = p.begin ? load<F>(p.begin + v * kFloatLanes) : F(0);
  for (int64_t k = 0; k < p.steps; ++k) {
    F row_of_b[N];
    for (int v = 0; v < N; ++v) row_of_b[v] = load<F>(p.b + k * p.b_step + v * kFloatLanes);
    for (int r = 0; r < Rows; ++r) {
      const F one_of_a(p.a[r * p.a_row + k * p.a_step]);
      for (int v = 0; v < N; ++v) sums[r][v] = multiply_add(sums[r][v], one_of_a, row_of_b[v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) out[r][v] = sums[r][v];
}

// The halves of words, as floats.
DRL_HD math::Floats upper_half(math::Floats words) {
  return bit_cast<math::Floats>(bit_cast<Bits<math::Floats>>(words) & 0xffff0000u);
}
DRL_HD math::Floats lower_half(math::Floats words) {
  return bit_cast<math::Floats>(bit_cast<Bits<math::Floats>>(words) << 16);
}
// Rounded to the nearest bfloat16, the even one of two, in the upper half; what is not a number stays so.
template <class F>
DRL_HD Bits<F> rounded_to_bf16(F x) {
  using B = Bits<F>;
  const B bits = drl::bit_cast<B>(x), nearest = bits + B(0x7fffu) + (bits >> 16 & B(1u));
  return math::select(x == x, nearest, bits | B(0x400000u)) & B(0xffff0000u);
}

// Calls end(row, register, sum) for each of the sums.
template <class Numbers, int Rows, int N, class End>
DRL_HD void multiply_block(const Product& p, [[maybe_unused]] bool has_pair_instruction, const End& end) {
  using F = math::Floats;
  F sums[Rows][N];
  if constexpr (Numbers::kPerWord == 1) {
    multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA { return math::fma(a, b, sum); });
  } else {
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
    if (has_pair_instruction) {  // which is of no instruction set that this unit is compiled for
      multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA {
        asm("vdpbf16ps %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
        return sum;
      });
    } else
#endif
      multiply<Rows, N>(p, sums, [](F sum, F a, F b) DRL_LAMBDA {
        return math::fma(lower_half(a), lower_half(b), math::fma(upper_half(a), upper_half(b), sum));
      });
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < N; ++v) end(r, v, sums[r][v]);
}

}  // namespace DRL_ISA

// A layer's copies of its weights [outputs, inputs] and biases.
template <class Numbers>
struct PackWeights {
  FusedLayer layer;
  const float *weight, *bias;
  DRL_HD void operator()(int64_t) const {
    const FusedLayer& l = layer;
    for (int64_t j = 0; j < padded(l.outputs); ++j) l.bias[j] = j < l.outputs ? bias[j] : 0;
    if (l.by_output) {
      for (int64_t j = 0; j < l.outputs; ++j)
        for (int64_t k = 0; k < l.in_stride; ++k)
          l.by_output[j * l.in_stride + k] = k < l.inputs ? weight[j * l.inputs + k] : 0;
    } else {
      pack(l.outputs, l.inputs, l.inputs, 1, l.forward);
    }
    pack(l.inputs, l.outputs, 1, l.inputs, l.backward);
  }

 private:
  // Number (column, step) is weight[column * column_stride + step * step_stride], 0 beyond.
  DRL_HD void pack(int64_t columns, int64_t steps, int64_t column_stride, int64_t step_stride, float* out) const {
    for_each_panel(columns, [&]<int N>(int64_t first, Registers<N>) DRL_LAMBDA {
      constexpr int64_t width = N * kFloatLanes, per_word = Numbers::kPerWord;
      float* panel = out + first * words<Numbers>(steps);
      if (per_word == 1 && first + width <= columns) {
        for (int64_t k = 0; k < steps; ++k)
          for (int v = 0; v < N; ++v) {
            const float* from = weight + (first + v * kFloatLanes) * column_stride + k * step_stride;
            store(panel + k * width + v * kFloatLanes,
                  column_stride == 1 ? load<math::Floats>(from) : load_strided<math::Floats>(from, column_stride));
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
  DRL_HD static float word_of(float lower, float upper) {
    return bit_cast<float>(rounded_to_bf16(lower) >> 16 | rounded_to_bf16(upper));
  }
};

// Rows 2 i and 2 i + 1 of floats x [rows, stride] as pairs: of neighbours in a row [rows, stride / 2], and of the two
// rows [rows / 2, stride]. Beyond the last row there are zeros.
struct MakePairs {
  const float* x;
  int64_t rows, stride;
  float *by_row, *by_column;
  DRL_HD void operator()(int64_t i) const {
    using F = math::Floats;
    using Halves = Pack<uint16_t, kFloatLanes>;
    const bool both = 2 * i + 1 < rows;
    const float* from = x + 2 * i * stride;
    auto* to = reinterpret_cast<uint16_t*>(by_row) + 2 * i * stride;
    for (int64_t k = 0; k < stride; k += kFloatLanes) {
      const Bits<F> first = rounded_to_bf16(load<F>(from + k)),
                    second = both ? rounded_to_bf16(load<F>(from + stride + k)) : Bits<F>(0u);
      store(to + k, convert<Halves>(first >> 16));
      if (both) store(to + stride + k, convert<Halves>(second >> 16));
      store(by_column + i * stride + k, bit_cast<F>(first >> 16 | second));
    }
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

inline namespace DRL_ISA {

// Activations by half as many instructions as elsewhere (nets/activation.hpp): with multiply-adds.
template <class A>
struct Fused : A {};
// Relative error below 3e-7. With x = n ln(2) + r: exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1); n >= -25.
template <>
struct Fused<Elu> : Elu {
  template <class F>
  DRL_HD static F value(F x) {
    const F c = math::max(x, F(-17.5f)), shifted = math::fma(c, F(1.44269504f), F(0x1.8p23f));
    const F r = math::fma(shifted - F(0x1.8p23f), F(-0.693147181f), c);
    F p = math::fma(r, F(1.395061146e-3f), F(8.368958719e-3f));
    p = math::fma(r, math::fma(r, math::fma(r, p, F(4.166620225e-2f)), F(1.666651815e-1f)), F(0.5f));
    const F power = drl::bit_cast<F>((drl::bit_cast<Bits<F>>(shifted) << 23) + 0x3f800000u);
    return math::select(x > F(0), x, math::fma(power, math::fma(r * r, p, r), power - F(1)));
  }
};
// The fraction of math::tanh. Relative error below 3e-7.
template <>
struct Fused<Tanh> : Tanh {
  template <class F>
  DRL_HD static F value(F x) {
    const F c = math::clamp(x, F(-9.02f), F(9.02f)), z = c * c;
    F p = math::fma(z, F(-8.506227406e-14f), F(5.288159494e-11f));
    p = math::fma(z, math::fma(z, p, F(-2.025374535e-8f)), F(1.116296153e-5f));
    p = math::fma(z, math::fma(z, p, F(3.104888601e-3f)), F(1.308488101e-1f));
    const F q = math::fma(z, math::fma(z, F(2.547438198e-4f), F(2.449899912e-2f)), F(4.641821086e-1f));
    return math::clamp(math::fma(c * z, p, c) / math::fma(z, q, F(1)), F(-1), F(1));
  }
};

// y = f(x) of `count` numbers, whole registers. Called, since its constants, which the compiler keeps in registers,
// would push a block's sums out of them.
template <class A>
DRL_HD_CALLED void activate(const float* x, float* y, int64_t count) {
  for (int64_t k = 0; k < count; k += kFloatLanes) store(y + k, Fused<A>::value(load<math::Floats>(x + k)));
}

}  // namespace DRL_ISA

// Outputs y = f(sums) of rows 48 i to 48 i + 47, and the sums themselves if f's way back needs them. x: words by row.
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
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>)
        multiply_block<Numbers, kBlockRows<N>, N>(
            {x + row * stride, stride, 1, l.forward + first * steps, N * kFloatLanes, steps, l.bias + first},
            l.has_pair_instruction, [&](int r, int v, math::Floats sum) DRL_LAMBDA {
              store(before + (row + r) * l.out_stride + first + v * kFloatLanes, sum);
            });
    });
    const int64_t from = i * kRowBlock * l.out_stride;
    if constexpr (!std::is_same_v<A, Linear>) activate<A>(before + from, y + from, end * l.out_stride - from);
  }
};

inline namespace DRL_ISA {

// x[0] + x[1] + ..., by halves.
template <int W>
DRL_HD float sum_of_lanes(Pack<float, W> x) {
  if constexpr (W == 2) {
    return lane(x, 0) + lane(x, 1);
  } else {
    Pack<float, W / 2> halves[2];
    __builtin_memcpy(halves, &x, sizeof(x));
    return sum_of_lanes(halves[0] + halves[1]);
  }
}
// The same of 16 numbers in several registers.
template <int N>
DRL_HD float sum_of_all(const math::Floats (&x)[N]) {
  if constexpr (N == 1) {
    return sum_of_lanes(x[0]);
  } else {
    math::Floats half[N / 2];
    for (int v = 0; v < N / 2; ++v) half[v] = x[v] + x[v + N / 2];
    return sum_of_all(half);
  }
}

}  // namespace DRL_ISA

// Outputs [rows, outputs] of a layer that has few and no activation, in floats: of row i. x: numbers by row.
struct FewOutputs {
  FusedLayer layer;
  const float* x;
  float* out;
  DRL_HD void operator()(int64_t i) const {
    constexpr int n = kPadded / kFloatLanes;
    for (int64_t j = 0; j < layer.outputs; ++j) {
      const float *row = x + i * layer.in_stride, *weight = layer.by_output + j * layer.in_stride;
      math::Floats sums[n];
      for (int v = 0; v < n; ++v) sums[v] = math::Floats(0);
      for (int64_t k = 0; k < layer.in_stride; k += kPadded)
        for (int v = 0; v < n; ++v)
          sums[v] = math::fma(load<math::Floats>(row + k + v * kFloatLanes),
                              load<math::Floats>(weight + k + v * kFloatLanes), sums[v]);
      out[i * layer.outputs + j] = layer.bias[j] + sum_of_all(sums);
    }
  }
};

// From the gradient dy with respect to a layer's sums to that of the sums whose activation A are its inputs; rows as
// above. dy: words by row. `from`: those sums, or the inputs, as A::backward asks.
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
      for (int64_t row = i * kRowBlock; row < end; row += kBlockRows<N>)
        multiply_block<Numbers, kBlockRows<N>, N>(
            {dy + row * stride, stride, 1, l.backward + first * steps, N * kFloatLanes, steps, nullptr},
            l.has_pair_instruction, [&](int r, int v, math::Floats sum) DRL_LAMBDA {
              const int64_t at = (row + r) * l.in_stride + first + v * kFloatLanes;
              store(dx + at, A::backward(sum, load<math::Floats>(from + at)));
            });
    });
  }
};

// Adds a layer's weight gradient over the rows, of outputs 12 i to 12 i + 11. x and dy: words by column.
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
      const auto add = [&]<int Outputs>(int64_t output, Registers<Outputs>) DRL_LAMBDA {
        multiply_block<Numbers, Outputs, N>(
            {dy + output, 1, l.out_stride, x + first, l.in_stride, words<Numbers>(rows), nullptr},
            l.has_pair_instruction, [&](int j, int v, math::Floats sum) DRL_LAMBDA {
              if (output + j < end) add_some(d_weight + (output + j) * l.inputs, first + v * kFloatLanes, sum);
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
      for (int64_t input = i * kInputs; input < end; input += kBlockRows<N>)
        multiply_block<Numbers, kBlockRows<N>, N>(
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
