// Kernels between the matrix products of cuBLAS.
#pragma once

#include <cstdint>

#include "device/reduce.hpp"
#include "nets/activation.hpp"

namespace drl {

// These kernels use 32-bit divisions, which are several times as fast as 64-bit ones. Every layer of a tile has fewer
// than 2^32 elements.

// N consecutive floats that a thread loads and stores at once.
template <int N>
struct alignas(N * sizeof(float)) FloatGroup {
  float x[N];
};

// y = f(y + bias), N elements per index. N must divide the width.
template <class A, int N>
struct AddBiasAndActivate {
  using GpuOnly = void;
  FloatGroup<N>* y;  // [n, width]
  const float* bias;
  uint32_t width;
  FloatGroup<N>* sums = nullptr;  // receives y + bias if A's backward pass needs it
  DRL_HD void operator()(int64_t i) const {
    const uint32_t first = static_cast<uint32_t>(i) * N % width;
    FloatGroup<N> values = y[i];
    for (int k = 0; k < N; ++k) values.x[k] += bias[first + k];
    if constexpr (!A::kFromOutput) {
      if (sums) sums[i] = values;
    }
    for (int k = 0; k < N; ++k) values.x[k] = A::value(values.x[k]);
    y[i] = values;
  }
};

// y += bias.
struct AddBias {
  using GpuOnly = void;
  float* y;  // [n, width]
  const float* bias;
  uint32_t width;
  DRL_HD void operator()(int64_t i) const { y[i] += bias[static_cast<uint32_t>(i) % width]; }
};

// A Load (device/reduce.hpp): the elements of a matrix.
struct LoadMatrix {
  using GpuOnly = void;
  const float* x;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    return static_cast<double>(x[row * width + column]);
  }
};

// A Load: the elementwise product of two matrices.
struct LoadProduct {
  using GpuOnly = void;
  const float *x, *y;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    return static_cast<double>(x[row * width + column]) * static_cast<double>(y[row * width + column]);
  }
};

// A Load: the gradient with respect to an activation's input, whose sum over the rows is the gradient of the bias. It
// also replaces `d`, the gradient with respect to the activation's output, by that gradient.
template <class A>
struct LoadActivationBackward {
  using GpuOnly = void;
  const float* from;  // as in ActivateBackward
  float* d;
  int64_t width;
  template <class F>
  DRL_HD double at(int64_t row, int column) const {
    const int64_t i = row * width + column;
    return static_cast<double>(d[i] = A::backward(d[i], from[i]));
  }
};

// Adds the partial products of all slices to `out`.
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

// A Store: adds the sums to `out`.
struct AddTo {
  using GpuOnly = void;
  float* out;
  DRL_HD void operator()(int column, double sum) const { out[column] += static_cast<float>(sum); }
};

}  // namespace drl
