// The squashing of numbers to an action's bounds by tanh, which the distributions SquashedGaussian and
// SquashedStateGaussian share (Haarnoja et al., "Soft Actor-Critic", arXiv:1801.01290, appendix C).
#pragma once

#include "drl/math.hpp"

namespace drl {

// The action for x is middle + half tanh(x), where middle +- half are the bounds.
struct Squash {
  static constexpr float kMost = 1 - 1e-6f;  // densities are those of tanh(x) in [-kMost, kMost]
  float low, high;                           // finite

  DRL_HD float half() const { return 0.5f * high - 0.5f * low; }
  DRL_HD float middle() const { return 0.5f * high + 0.5f * low; }
  template <class F>
  DRL_HD F action(F x) const {
    return of_tanh(math::tanh(x));
  }
  template <class F>
  DRL_HD F of_tanh(F u) const {
    return math::clamp(F(middle()) + F(half()) * u, F(low), F(high));
  }
  // Returns tanh(x) of an action.
  template <class F>
  DRL_HD F unit(F action) const {
    return math::clamp((action - F(middle())) / F(half()), F(-kMost), F(kMost));
  }
  template <class F>
  DRL_HD static F inverse_tanh(F u) {
    return F(0.5f) * math::log((F(1) + u) / (F(1) - u));
  }
};

// The mean of log(1 - tanh(x)^2) for a Gaussian x, by which squashing changes the entropy, and its derivatives with
// respect to the mean and log std of x. The entropy has no closed form; this is its Gauss-Hermite quadrature with 8
// nodes, which is exact to 0.001 up to a standard deviation of 1, to 0.01 up to 1.5, and to 0.1 up to 3.
template <class F>
struct SquashSlopes {
  F log_slope = F(0), d_mean = F(0), d_log_std = F(0);

  // Std is float, or F if the standard deviation differs from lane to lane.
  template <class Std>
  DRL_HD static SquashSlopes at(F mean, Std std) {
    constexpr float nodes[] = {0.539079811f, 1.63651904f, 2.80248586f, 4.14454719f},
                    weights[] = {0.373012258f, 0.117239908f, 0.00963522012f, 0.000112614538f};
    constexpr float log_two = 0.69314718055994530942f;
    SquashSlopes s;
    for (int node = 0; node < 8; ++node) {
      const float weight = weights[node / 2];
      const Std deviation = (node % 2 == 0 ? std : -std) * Std(nodes[node / 2]);
      const F x = mean + F(deviation), size = math::abs(x), decay = math::exp(F(-2) * size);
      const F tanh_of_size = (F(1) - decay) / (F(1) + decay);
      const F slope = F(-2 * weight) * math::select(x < F(0), -tanh_of_size, tanh_of_size);
      s.log_slope = s.log_slope + F(2 * weight) * (F(log_two) - size - math::log(F(1) + decay));
      s.d_mean = s.d_mean + slope;
      s.d_log_std = s.d_log_std + slope * F(deviation);
    }
    return s;
  }
};

}  // namespace drl
