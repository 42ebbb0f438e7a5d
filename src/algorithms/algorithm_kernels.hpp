// Kernels that every algorithm uses: sums, and Adam. Kernels are function objects (device/for_each.hpp).
#pragma once

#include <cstdint>

#include "algorithms/rollout.hpp"
#include "device/reduce.hpp"
#include "drl/math.hpp"
#include "policy/distribution.hpp"

namespace drl {

// --- Sums ---

// If one of this rank's sums is not finite, sets the rank's slot to 1 and zeroes all of the sums, so that the
// all-reduce tells every rank which one failed.
struct CheckFinite {
  double *first, *last;  // the range of this rank's sums
  double* slot;
  DRL_HD void operator()(int64_t) const {
    bool finite = true;
    for (const double* x = first; x != last; ++x) finite = finite && *x - *x == 0;
    if (finite) return;
    for (double* x = first; x != last; ++x) *x = 0;
    *slot = 1;
  }
};

// The mean of a sample's standard deviations, if they depend on the observation.
template <class Policy>
struct StateStd {
  static constexpr int kColumns = 1;
  Policy policy;
  const float* out;  // [samples, outputs]
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int) const {
    F sum = F(0);
    if constexpr (HasStateStd<Policy>)
      for (int k = 0; k < policy.size; ++k) sum = sum + policy.template std_at<F>(out, row, k);
    return convert<Wide<F>>(sum * F(1.0f / static_cast<float>(policy.size)));
  }
};

// --- Optimiser ---

// Returns the mask of F's lanes whose index (i, i + 1, ...) is below `bound`.
template <class F>
DRL_HD Mask<F> below(int64_t i, int64_t bound) {
  const int64_t left = bound - i, width = kLanesOf<F>;
  return lane_numbers<Int<F>>() < Int<F>(static_cast<int32_t>(left < 0 ? 0 : left > width ? width : left));
}

// The factors of an Adam step (Kingma and Ba, "Adam: A Method for Stochastic Optimization", arXiv:1412.6980):
// learning_rate / (1 - beta1^n) and 1 / sqrt(1 - beta2^n) at step n. A group of parameters has its own step_size.
struct AdamScale {
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
  float inv_sqrt_correction2, epsilon;

  DRL_HD static AdamScale at(int64_t step, double epsilon) {
    return {static_cast<float>(1 / math::sqrt_double(1 - power(kBeta2, step))), static_cast<float>(epsilon)};
  }
  DRL_HD static float step_size(int64_t step, double learning_rate) {
    return static_cast<float>(learning_rate / (1 - power(kBeta1, step)));
  }
  // Updates a parameter p and its moments m and v with the gradient g.
  template <class F>
  DRL_HD void update(F step_size, F& p, F g, F& m, F& v) const {
    constexpr float beta1 = kBeta1, beta2 = kBeta2, rest1 = 1 - kBeta1, rest2 = 1 - kBeta2;
    m = F(beta1) * m + F(rest1) * g;
    v = F(beta2) * v + F(rest2) * g * g;
    p = p - step_size * m / (math::sqrt(v) * F(inv_sqrt_correction2) + F(epsilon));
  }

 private:
  DRL_HD static double power(double base, int64_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return result;
  }
};

}  // namespace drl
