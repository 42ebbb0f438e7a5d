#include "engines/activation.hpp"

#include "base/simd.hpp"

namespace drl {
namespace {

template <class F>
DRL_CLONES void values(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = F::value(x[i]);
}

template <class F>
DRL_CLONES void backward(const float* y, float* d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = F::backward(d[i], y[i]);
}

}  // namespace

void activate(Activation activation, float* x, int64_t n) {
  with_activation(activation, [&]<class F>(F) { values<F>(x, n); });
}

void activation_backward(Activation activation, const float* y, float* d, int64_t n) {
  with_activation(activation, [&]<class F>(F) { backward<F>(y, d, n); });
}

}  // namespace drl
