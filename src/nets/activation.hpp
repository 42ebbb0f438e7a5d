// Activations of hidden layers, the same bits on every machine; on a CPU several times faster than libtorch's.
#pragma once

#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "nets/layout.hpp"

namespace drl {

// Each is y = value(x), and backward(d, y) = d f'(x), which y = f(x) suffices to tell.
struct Elu {  // x for x > 0, else exp(x) - 1
  template <class F>
  DRL_HD static F value(F x) {
    return math::select(x > F(0), x, math::exp(math::min(x, F(0))) - F(1));
  }
  template <class F>
  DRL_HD static F backward(F d, F y) {
    return d * math::select(y > F(0), F(1), y + F(1));
  }
};
struct Tanh {
  template <class F>
  DRL_HD static F value(F x) {
    return math::tanh(x);
  }
  template <class F>
  DRL_HD static F backward(F d, F y) {
    return d * (F(1) - y * y);
  }
};
struct Relu {
  template <class F>
  DRL_HD static F value(F x) {
    return math::max(x, F(0));
  }
  template <class F>
  DRL_HD static F backward(F d, F y) {
    return math::select(y > F(0), d, F(0));
  }
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

}  // namespace drl
