// The kernels of networks and normalisers between the matrix products.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/reduce.hpp"
#include "nets/activation.hpp"
#include "nets/nets.hpp"

namespace drl {

// Columns [2 dim]: per dimension, the sums of obs - shift, and then the sums of its squares.
struct ObservationMoments {
  const float* obs;
  const double* shift;
  int dim;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    const int k = column % dim;
    const Wide<F> d = convert<Wide<F>>(load_strided<F>(obs + row * dim + k, dim)) - Wide<F>(shift[k]);
    return column < dim ? d : d * d;
  }
};

// Copies rows of `width` floats between arrays with different strides. number(row, k) copies one number, for GPUs.
struct CopyRows {
  const float* from;
  float* to;
  int64_t width, from_stride, to_stride;
  DRL_HD void operator()(int64_t row) const {
    std::memcpy(to + row * to_stride, from + row * from_stride, static_cast<size_t>(width) * sizeof(float));
  }
  DRL_HD void number(int64_t row, int64_t k) const { to[row * to_stride + k] = from[row * from_stride + k]; }
};

// Writes a network's normalised inputs out [count, inputs], one element per index. On a GPU, 32-bit divisions are
// several times as fast as 64-bit ones; a tile has fewer than 2^32 elements.
struct GatherInputs {
  Rows rows;
  uint32_t inputs;
  float* out;
  DRL_HD void operator()(int64_t i) const {
    const uint32_t row = static_cast<uint32_t>(i) / inputs, k = static_cast<uint32_t>(i) % inputs;
    out[i] = rows.normalizer(rows.data[(rows.index ? rows.index[row] : static_cast<int64_t>(row)) * inputs + k], k);
  }
};
// Writes the same inputs row by row, `stride` floats apart. This is the faster way on a CPU.
struct GatherRows {
  Rows rows;
  int64_t inputs, stride;
  float* out;
  DRL_HD void operator()(int64_t row) const {
    const float* from = rows.data + (rows.index ? rows.index[row] : row) * inputs;
    float* to = out + row * stride;
#if !defined(DRL_GPU_COMPILER)
    if (inputs >= kFloatLanes) return gather<math::Floats>(from, to);
    if (inputs >= 4) return gather<Pack<float, 4>>(from, to);
#endif
    gather<float>(from, to);
  }

 private:
  // Writes as many elements at once as F has lanes. The last step ends at the end of the row, so some elements may be
  // written twice.
  template <class F>
  DRL_HD void gather(const float* from, float* to) const {
    for (int64_t k = 0; k < inputs; k += kLanesOf<F>) {
      const int64_t at = k + kLanesOf<F> <= inputs ? k : inputs - kLanesOf<F>;
      store(to + at, rows.normalizer(load<F>(from + at), at));
    }
  }
};

// y = f(x); x and y may be the same array.
template <class A>
struct Activate {
  const float* x;
  float* y;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(y + i, A::value(load<F>(x + i)));
  }
};
// d = d f'(x).
template <class A>
struct ActivateBackward {
  const float* from;  // y if A::kFromOutput, else x
  float* d;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(d + i, A::backward(load<F>(d + i), load<F>(from + i)));
  }
};

// Layer norm (Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450) computes f(weight z + bias), where z is a
// row of a layer's sums, normalised to mean 0 and standard deviation 1. The sums are the outputs of the layer's matrix
// product plus its own bias.

// Returns term(0) + ... + term(width - 1). It accumulates kSumLanes partial sums, in the same order on every
// instruction set and device.
template <class Term>
DRL_HD float sum_of_row(int width, const Term& term) {
  float sums[kSumLanes] = {};
  int k = 0;
  for (; k + kSumLanes <= width; k += kSumLanes)
    for (int l = 0; l < kSumLanes; ++l) sums[l] += term(k + l);
  for (int l = 0; l < kSumLanes; ++l)  // a constant trip count lets a GPU keep the sums in registers
    if (k + l < width) sums[l] += term(k + l);
  for (int half = kSumLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < kSumLanes / 2; ++l)
      if (l < half) sums[l] += sums[l + half];
  return sums[0];
}

// Normalises a row of sums in place.
struct NormalizeRows {
  static constexpr float kEps = 1e-5f;  // added to the variance, as torch.nn.LayerNorm does
  float* x;                             // [rows, width]
  float* inv_std;                       // [rows]
  int width;
  const float* layer_bias = nullptr;  // [width], added to x first; null if x already contains it
  DRL_HD void operator()(int64_t row) const {
    float* z = x + row * width;
    const float n = static_cast<float>(width);
    if (layer_bias)
      for (int k = 0; k < width; ++k) z[k] += layer_bias[k];
    const float mean = sum_of_row(width, [=](int k) DRL_LAMBDA { return z[k]; }) / n;
    for (int k = 0; k < width; ++k) z[k] -= mean;
    const float variance = sum_of_row(width, [=](int k) DRL_LAMBDA { return z[k] * z[k]; }) / n;
    const float scale = 1 / math::sqrt(variance + kEps);
    for (int k = 0; k < width; ++k) z[k] *= scale;
    inv_std[row] = scale;
  }
};

// Adds x to y, both [count], and writes the sums to `copy`, unless these are null.
struct AddResidual {
  const float* x;
  float *y, *copy;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const F sum = x ? load<F>(y + i) + load<F>(x + i) : load<F>(y + i);
    store(y + i, sum);
    if (copy) store(copy + i, sum);
  }
};

// Replaces d, the gradient with respect to weight z + bias, by the gradient with respect to the sums.
struct NormalizeRowsBackward {
  const float *z, *inv_std, *weight;
  float* d;  // [rows, width]
  int width;
  DRL_HD void operator()(int64_t row) const {
    const float *of_z = z + row * width, *of_weight = weight;
    float* dz = d + row * width;
    const float n = static_cast<float>(width), scale = inv_std[row];
    for (int k = 0; k < width; ++k) dz[k] *= of_weight[k];
    const float mean = sum_of_row(width, [=](int k) DRL_LAMBDA { return dz[k]; }) / n;
    const float along = sum_of_row(width, [=](int k) DRL_LAMBDA { return dz[k] * of_z[k]; }) / n;
    for (int k = 0; k < width; ++k) dz[k] = scale * (dz[k] - mean - of_z[k] * along);
  }
};

// Computes weight z + bias for elements i, i + 1, ... of z [rows, width].
struct ScaledUnits {
  const float *z, *weight, *bias;
  uint32_t width;  // 32 bits, as in GatherInputs
  // Returns whether these elements (one per lane of F) are within one row, as at() requires.
  template <class F>
  DRL_HD bool one_row(int64_t i) const {
    return static_cast<uint32_t>(i) % width + kLanesOf<F> <= width;
  }
  template <class F>
  DRL_HD F at(int64_t i) const {
    const uint32_t k = static_cast<uint32_t>(i) % width;
    return load<F>(weight + k) * load<F>(z + i) + load<F>(bias + k);
  }
};
inline ScaledUnits scaled_units(const ParamLayout& layout, const float* params, NetId net, int layer, const float* z) {
  const ParamSlice &weight = layout.norm_weight(net, layer), &bias = layout.norm_bias(net, layer);
  return {z, params + weight.offset, params + bias.offset, static_cast<uint32_t>(weight.count())};
}
// y = f(weight z + bias).
template <class A>
struct ScaleAndActivate {
  ScaledUnits units;
  float* y;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if constexpr (1 < kLanesOf<F>) {
      if (!units.one_row<F>(i)) {
        for (int l = 0; l < kLanesOf<F>; ++l) lanes<Scalar<F>>(i + l);
        return;
      }
    }
    store(y + i, A::value(units.at<F>(i)));
  }
};
// Replaces d, the gradient with respect to y, by the gradient with respect to weight z + bias.
template <class A>
struct ScaleAndActivateBackward {
  ScaledUnits units;
  const float* y;
  float* d;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if constexpr (A::kFromOutput) {
      store(d + i, A::backward(load<F>(d + i), load<F>(y + i)));
    } else {
      if constexpr (1 < kLanesOf<F>) {
        if (!units.one_row<F>(i)) {
          for (int l = 0; l < kLanesOf<F>; ++l) lanes<Scalar<F>>(i + l);
          return;
        }
      }
      store(d + i, A::backward(load<F>(d + i), units.at<F>(i)));
    }
  }
};

}  // namespace drl
