// Activation functions. They are bit-identical on every machine, and on CPUs several times as fast as
// libtorch's.
#pragma once

#include "drl/lanes/hd.hpp"
#include "drl/math.hpp"
#include "nets/layout.hpp"

namespace drl {

// Each has value(x) = f(x). backward(d, y) returns d f'(x) from the output y = f(x) if kFromOutput is true; otherwise
// backward(d, x) takes the input.
struct Elu {  // x for x > 0, else exp(x) - 1
  static constexpr bool kFromOutput = true;
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
  static constexpr bool kFromOutput = true;
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
  static constexpr bool kFromOutput = true;
  template <class F>
  DRL_HD static F value(F x) {
    return math::max(x, F(0));
  }
  template <class F>
  DRL_HD static F backward(F d, F y) {
    return math::select(y > F(0), d, F(0));
  }
};

struct Silu {  // x / (1 + exp(-x)), also called swish
  static constexpr bool kFromOutput = false;
  template <class F>
  DRL_HD static F value(F x) {
    return x / (F(1) + math::exp(-x));
  }
  template <class F>
  DRL_HD static F backward(F d, F x) {
    const F s = F(1) / (F(1) + math::exp(-x));
    return d * (s * (F(1) + x * (F(1) - s)));
  }
};
// x times the cumulative distribution function of the normal distribution, as in torch.nn.GELU() (Hendrycks and Gimpel,
// "Gaussian Error Linear Units", arXiv:1606.08415).
struct Gelu {
  static constexpr bool kFromOutput = false;
  template <class F>
  DRL_HD static F value(F x) {
    return x * cumulative(x, bell(x));
  }
  template <class F>
  DRL_HD static F backward(F d, F x) {
    const F at = bell(x);
    return d * (cumulative(x, at) + x * at * F(0.398942280f));  // x times the density
  }

 private:
  template <class F>
  DRL_HD static F bell(F x) {
    return math::exp(F(-0.5f) * x * x);
  }
  // The absolute error is below 1.3e-7 in float. The probability beyond |x| is bell(x) times a minimax rational
  // function on [0, 14.4].
  template <class F>
  DRL_HD static F cumulative(F x, F bell) {
    const F t = math::min(math::abs(x), F(14.4f));
    const F p = F(0.5f) + t * (4.380906219e-1f + t * (1.830836419e-1f + t * (4.058211993e-2f + t * 4.108712393e-3f)));
    const F q = F(1) + t * (1.674066220f +
                            t * (1.201874138f + t * (4.690706568e-1f + t * (1.017308062e-1f + t * 1.029889319e-2f))));
    const F beyond = bell * (p / q);
    return math::select(x < F(0), beyond, F(1) - beyond);
  }
};

struct Linear {  // the identity
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

// Calls use(Elu{}), use(Tanh{}), ... for the given activation.
template <class Use>
void with_activation(Activation activation, Use&& use) {
#define DRL_USE(name, A) \
  if (activation == Activation::name) return use(A{});
  DRL_ACTIVATIONS(DRL_USE)
#undef DRL_USE
}

// Returns whether the backward pass needs only the activation's output (kFromOutput).
inline bool from_output(Activation activation) {
  bool result = true;
  with_activation(activation, [&]<class A>(A) { result = A::kFromOutput; });
  return result;
}

}  // namespace drl
