// What stands between cuBLAS' products.
#pragma once

#include <cstdint>

#include "device/reduce.hpp"
#include "nets/activation.hpp"

namespace drl {

// Kernels divide in 32 bits, which is several times as fast: a tile has fewer numbers than 2^32 in every layer.

// Neighbours that a thread loads and stores at once.
template <int N>
struct alignas(N * sizeof(float)) Neighbours {
  float x[N];
};

// N divides the width.
template <class A, int N>
struct AddBiasAndActivate {
  using GpuOnly = void;
  Neighbours<N>* y;  // [n, width]
  const float* bias;
  uint32_t width;
  Neighbours<N>* sums = nullptr;  // where those stay that the way back wants to know
  DRL_HD void operator()(int64_t i) const {
    const uint32_t first = static_cast<uint32_t>(i) * N % width;
    Neighbours<N> some = y[i];
    for (int k = 0; k < N; ++k) some.x[k] += bias[first + k];
    if constexpr (!A::kFromOutput) {
      if (sums) sums[i] = some;
    }
    for (int k = 0; k < N; ++k) some.x[k] = A::value(some.x[k]);
    y[i] = some;
  }
};

struct AddBias {
  using GpuOnly = void;
  float* y;  // [n, width]
  const float* bias;
  uint32_t width;
  DRL_HD void operator()(int64_t i) const { y[i] += bias[static_cast<uint32_t>(i) % width]; }
};

struct LoadMatrix {
  using GpuOnly = void;
  const float* x;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    return static_cast<double>(x[row * width + column]);
  }
};

struct LoadProduct {
  using GpuOnly = void;
  const float *x, *y;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    return static_cast<double>(x[row * width + column]) * static_cast<double>(y[row * width + column]);
  }
};

// The gradient before an activation, from the one behind it: written where that was, on its way to the bias' gradient.
template <class A>
struct LoadActivationBackward {
  using GpuOnly = void;
  const float* from;  // as ActivateBackward
  float* d;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    const int64_t i = row * width + column;
    return static_cast<double>(d[i] = A::backward(d[i], from[i]));
  }
};

// Adds the slices of a product's sum to it.
struct AddSlices {
  using GpuOnly = void;
  const float* slices;  // [count, size]
  int64_t count, size;
  float* out;  // [size]
  DRL_HD void operator()(int64_t i) const {
    constexpr int kAtOnce = 16;
    double sum = 0;
    for (int64_t first = 0; first < count; first += kAtOnce) {
      float x[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) x[k] = first + k < count ? slices[(first + k) * size + i] : 0.0f;
      for (int k = 0; k < kAtOnce; ++k) sum += static_cast<double>(x[k]);
    }
    out[i] += static_cast<float>(sum);
  }
};

struct AddTo {
  using GpuOnly = void;
  float* out;
  DRL_HD void operator()(int column, double sum) const { out[column] += static_cast<float>(sum); }
};

}  // namespace drl
