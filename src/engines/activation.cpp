#include "engines/activation.hpp"

#include "base/math.hpp"
#include "base/simd.hpp"

namespace drl {
namespace {

DRL_CLONES void elu(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = math::select(x[i] > 0.0f, x[i], math::exp(math::min(x[i], 0.0f)) - 1.0f);
}

DRL_CLONES void tanh(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = math::tanh(x[i]);
}

DRL_CLONES void relu(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = math::max(x[i], 0.0f);
}

DRL_CLONES void elu_backward(const float* y, float* d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] *= math::select(y[i] > 0.0f, 1.0f, y[i] + 1.0f);
}

DRL_CLONES void tanh_backward(const float* y, float* d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] *= 1.0f - y[i] * y[i];
}

DRL_CLONES void relu_backward(const float* y, float* d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = math::select(y[i] > 0.0f, d[i], 0.0f);
}

}  // namespace

void activate(Activation activation, float* x, int64_t n) {
  switch (activation) {
    case Activation::elu:
      return elu(x, n);
    case Activation::tanh:
      return tanh(x, n);
    case Activation::relu:
      return relu(x, n);
  }
}

void activation_backward(Activation activation, const float* y, float* d, int64_t n) {
  switch (activation) {
    case Activation::elu:
      return elu_backward(y, d, n);
    case Activation::tanh:
      return tanh_backward(y, d, n);
    case Activation::relu:
      return relu_backward(y, d, n);
  }
}

}  // namespace drl
