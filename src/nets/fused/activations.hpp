// The activation functions of fused networks.
#pragma once

#include "nets/activation.hpp"
#include "nets/fused/products.hpp"

namespace drl {

inline namespace DRL_ISA {

// Versions of the activations that use fused multiply-adds. They take half as many instructions as those of
// nets/activation.hpp.
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
// The same rational function as in math::tanh. Relative error below 3e-7.
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

// Computes y = f(x) for `count` floats, a multiple of kFloatLanes. It is not inlined, because the compiler would keep
// its constants in registers and spill the sums of a block.
template <class A>
DRL_HD_CALLED void activate(const float* x, float* y, int64_t count) {
  for (int64_t k = 0; k < count; k += kFloatLanes) store(y + k, Fused<A>::value(load<math::Floats>(x + k)));
}

}  // namespace DRL_ISA

}  // namespace drl
