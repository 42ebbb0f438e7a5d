// Layer norm of hidden layers (Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450), which computes
// f(weight z + bias). z is a row of a layer's sums (see net_kernels.hpp), normalised to mean 0 and standard
// deviation 1.
#pragma once

#include <cstdint>

#include "nets/fused/activations.hpp"
#include "nets/fused/rows.hpp"
#include "nets/net_kernels.hpp"

namespace drl {

// A layer's parameters of layer norm and its buffers for a tile.
struct LayerNorm {
  int width;
  int64_t stride;
  const float *weight, *bias;  // [stride], 0 from `width` on
  float* z;                    // [rows, stride], the sums, normalised in place
  float* inv_std;              // [rows]
};

// Computes y = f(scaled) for rows 48 i to 48 i + 47. scaled = weight z + bias is stored only if f's backward pass needs
// it.
template <class A>
struct NormForward {
  LayerNorm norm;
  float *scaled, *y;
  int64_t rows;
  DRL_HD void operator()(int64_t i) const {
    const int64_t begin = i * kRowBlock, end = begin + kRowBlock < rows ? begin + kRowBlock : rows;
    float* before = A::kFromOutput ? y : scaled;
    for (int64_t row = begin; row < end; ++row) normalize(row, before + row * norm.stride);
    const int64_t from = begin * norm.stride;
    activate<A>(before + from, y + from, end * norm.stride - from);
  }

 private:
  DRL_HD void normalize(int64_t row, float* out) const {
    using F = math::Floats;
    const int64_t stride = norm.stride;
    const float n = static_cast<float>(norm.width);
    float* z = norm.z + row * stride;
    const F mean(sum_of_padded(stride, [&](F sum, int64_t k) DRL_LAMBDA { return sum + load<F>(z + k); }) / n);
    for (int64_t k = 0; k < stride; k += kFloatLanes) store(z + k, load<F>(z + k) - mean);
    for (int64_t k = norm.width; k < stride; ++k) z[k] = 0;
    const float squares = sum_of_padded(stride, [&](F sum, int64_t k) DRL_LAMBDA {
      const F d = load<F>(z + k);
      return math::fma(d, d, sum);
    });
    const float scale = 1 / math::sqrt(squares / n + NormalizeRows::kEps);
    for (int64_t k = 0; k < stride; k += kFloatLanes) {
      const F of_row = load<F>(z + k) * F(scale);
      store(z + k, of_row);
      store(out + k, math::fma(load<F>(norm.weight + k), of_row, load<F>(norm.bias + k)));
    }
    norm.inv_std[row] = scale;
  }
};

// Computes d_sums, the gradient with respect to the layer's sums, from d_scaled, the gradient with respect to
// weight z + bias. Index i is a row.
struct NormBackward {
  LayerNorm norm;
  const float* d_scaled;
  float* d_sums;
  DRL_HD void operator()(int64_t i) const {
    using F = math::Floats;
    const int64_t first = i * norm.stride;
    const float *z = norm.z + first, *d = d_scaled + first;
    const float n = static_cast<float>(norm.width);
    const auto d_z = [&](int64_t k) DRL_LAMBDA { return load<F>(d + k) * load<F>(norm.weight + k); };
    const F mean(sum_of_padded(norm.stride, [&](F sum, int64_t k) DRL_LAMBDA { return sum + d_z(k); }) / n);
    const F along(sum_of_padded(norm.stride,
                                [&](F sum, int64_t k) DRL_LAMBDA { return math::fma(d_z(k), load<F>(z + k), sum); }) /
                  n);
    for (int64_t k = 0; k < norm.stride; k += kFloatLanes)
      store(d_sums + first + k, F(norm.inv_std[i]) * (d_z(k) - mean - load<F>(z + k) * along));
  }
};

}  // namespace drl
