// Function objects that call a distribution's functions.
#pragma once

#include <cstdint>

#include "device/reduce.hpp"
#include "policy/distribution.hpp"

namespace drl::test {

template <class Policy>
struct Sample {
  Policy policy;
  ActionNoise noise;
  const float* out;
  typename Policy::Action* action;
  float *env_action, *log_prob;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(log_prob + i, policy.template sample<F>(noise, out, i, action, env_action));
  }
};

template <class Policy>
struct MostProbable {
  Policy policy;
  const float* out;
  typename Policy::Action* action;
  float* env_action;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    policy.template most_probable<F>(out, i, action, env_action);
  }
};

// Evaluates the samples `rows` of `old_out` and `action`, and computes their gradient as a loss does.
template <class Policy>
struct Differentiate {
  Policy policy;
  const float *out, *old_out;
  const typename Policy::Action* action;
  const int32_t* rows;
  const float* d_log_prob;
  float entropy_coef;
  float *log_prob, *kl, *entropy, *d_out;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const Int<F> row = load<Int<F>>(rows + i);
    const Evaluated<F> e = policy.template evaluate<F>(out, old_out, action, i, row, d_out);
    store(log_prob + i, e.log_prob);
    store(kl + i, e.kl);
    store(entropy + i, e.entropy);
    policy.template gradient<F>(out, action, i, row, e, load<F>(d_log_prob + i), F(entropy_coef), d_out, sums, 0);
  }
};

}  // namespace drl::test
