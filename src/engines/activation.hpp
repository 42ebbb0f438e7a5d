// Activations of hidden layers, the same bits on every machine; on the CPU several times faster than libtorch's.
#pragma once

#include <cstdint>

#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "learn/network.hpp"

namespace drl {

// Each is y = value(x), and backward(d, y) = d f'(x), which y = f(x) suffices to tell.
struct Elu {  // x for x > 0, else exp(x) - 1
  DRL_HD static float value(float x) { return math::select(x > 0.0f, x, math::exp(math::min(x, 0.0f)) - 1.0f); }
  DRL_HD static float backward(float d, float y) { return d * math::select(y > 0.0f, 1.0f, y + 1.0f); }
};
struct Tanh {
  DRL_HD static float value(float x) { return math::tanh(x); }
  DRL_HD static float backward(float d, float y) { return d * (1.0f - y * y); }
};
struct Relu {
  DRL_HD static float value(float x) { return math::max(x, 0.0f); }
  DRL_HD static float backward(float d, float y) { return math::select(y > 0.0f, d, 0.0f); }
};

// Calls use(Elu{}), use(Tanh{}) or use(Relu{}).
template <class Use>
void with_activation(Activation activation, Use&& use) {
  switch (activation) {
    case Activation::elu:
      return use(Elu{});
    case Activation::tanh:
      return use(Tanh{});
    case Activation::relu:
      return use(Relu{});
  }
}

// x [n] := f(x).
void activate(Activation activation, float* x, int64_t n);

// d [n] := d * f'(x), from y = f(x) [n].
void activation_backward(Activation activation, const float* y, float* d, int64_t n);

}  // namespace drl
