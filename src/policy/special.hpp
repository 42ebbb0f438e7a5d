// Special functions of the Beta distribution, for the lanes of F. Arguments are at least 1. Recurrences raise them to
// where the asymptotic series are exact to float (Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.1.41,
// 6.3.18 and 6.4.12).
#pragma once

#include "drl/math.hpp"

namespace drl {

// Returns d log Gamma(x) / dx.
template <class F>
DRL_HD F digamma(F x) {
  const F below = F(1) / x + F(1) / (x + F(1)) + F(1) / (x + F(2)) + F(1) / (x + F(3));
  const F y = x + F(4), r = F(1) / y, r2 = r * r;
  return math::log(y) - F(0.5f) * r - r2 * (F(1 / 12.0f) - r2 * (F(1 / 120.0f) - r2 * F(1 / 252.0f))) - below;
}

// Returns the derivative of digamma(x).
template <class F>
DRL_HD F trigamma(F x) {
  F below = F(0);
  for (int k = 0; k < 4; ++k) {
    const F r = F(1) / (x + F(static_cast<float>(k)));
    below = below + r * r;
  }
  const F r = F(1) / (x + F(4)), r2 = r * r;
  return r + F(0.5f) * r2 + r * r2 * (F(1 / 6.0f) - r2 * (F(1 / 30.0f) - r2 * F(1 / 42.0f))) + below;
}

// Returns the remainder of Stirling's formula, log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, for x >= 3.
template <class F>
DRL_HD F stirling_remainder(F x) {
  const F r = F(1) / x, r2 = r * r;
  return r *
         (F(1 / 12.0f) - r2 * (F(1 / 360.0f) - r2 * (F(1 / 1260.0f) - r2 * (F(1 / 1680.0f) - r2 * F(1 / 1188.0f)))));
}

// Returns log(Gamma(a) Gamma(b) / Gamma(a + b)). The absolute error is about 1e-7 times the larger argument.
template <class F>
DRL_HD F log_beta(F a, F b) {
  constexpr float half_log_two_pi = 0.91893853320467274178f;
  const F s = a + b, a2 = a + F(2), b2 = b + F(2), s4 = s + F(4);
  const F raised = s / a * ((s + F(1)) / (a + F(1))) * ((s + F(2)) / b) * ((s + F(3)) / (b + F(1)));
  return (a2 - F(0.5f)) * math::log(a2 / s4) + (b2 - F(0.5f)) * math::log(b2 / s4) - F(0.5f) * math::log(s4) +
         F(half_log_two_pi) + stirling_remainder(a2) + stirling_remainder(b2) - stirling_remainder(s4) +
         math::log(raised);
}

}  // namespace drl
