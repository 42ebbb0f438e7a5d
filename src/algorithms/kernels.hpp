// What actors and critics of every algorithm need, as function objects: actions, advantages, moments, Adam.
#pragma once

#include <cstdint>

#include "algorithms/rollout.hpp"
#include "device/reduce.hpp"
#include "drl/math.hpp"
#include "policies/distribution.hpp"

namespace drl {

// --- Actions ---

struct StandardDeviations {
  Gaussian policy;
  DRL_HD void operator()(int64_t k) const { policy.std[k] = policy.std_now(static_cast<int>(k)); }
};

enum class ActionChoice { sample, most_probable };

// The actions of environments, from the policy's outputs of this step.
template <class Policy>
struct ChooseActions {
  Policy policy;
  ActionChoice choice;
  uint64_t seed;
  int64_t first_env;  // the global index of environment 0
  LifetimeStep step;
  const float* out;                 // [N, out_size]
  typename Policy::Action* action;  // [N, ...]
  float *env_action, *log_prob;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if (choice == ActionChoice::most_probable) return policy.template most_probable<F>(out, i, action, env_action);
    store(log_prob + i, policy.template sample<F>({seed, first_env, step.value()}, out, i, action, env_action));
  }
};

// --- Advantages ---

// Generalised advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", arXiv:1506.02438, eq. 16). Scales rewards, adds gamma * V(last observation) where an episode was cut,
// and walks back in time; the trace is cut wherever an episode ended, of either cause.
struct Advantages {
  RolloutView r;
  float gamma, lam, reward_scale;
  const float* last_values;  // [last_rows, N]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    Int<F> left = load<Int<F>>(r.last_count + i);
    F next = F(0), next_value = load<F>(r.value + r.samples() + i);
    for (int64_t t = r.num_steps - 1; t >= 0; --t) {
      const int64_t row = t * r.num_envs + i;
      const Mask<F> truncated = load<Int<F>>(r.truncated + row) != Int<F>(0),
                    ended = truncated | (load<Int<F>>(r.terminated + row) != Int<F>(0));
      F reward = load<F>(r.reward + row) * F(reward_scale);
      if (any(truncated)) {
        left = math::select(truncated, left - Int<F>(1), left);
        const Int<F> at = math::select(truncated, left * Int<F>(static_cast<int32_t>(r.num_envs)), Int<F>(0));
        const F last = gather<F>(last_values + i, at + lane_numbers<Int<F>>());
        reward = math::select(truncated, reward + F(gamma) * last, reward);
      }
      const F value = load<F>(r.value + row), goes_on = math::select(ended, F(0), F(1));
      const F delta = reward + F(gamma) * next_value * goes_on - value;  // TD error: r_t + gamma V(s_{t+1}) - V(s_t)
      next = delta + F(gamma * lam) * goes_on * next;
      next_value = value;
      store(r.reward + row, reward);
      store(r.advantage + row, next);
      store(r.return_target + row, next + value);
    }
  }
};

// Sum and sum of squares of advantages, then of returns.
struct AdvantageMoments {
  const float *advantage, *return_target;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    const Wide<F> x = convert<Wide<F>>(load<F>((column < 2 ? advantage : return_target) + row));
    return column % 2 == 0 ? x : x * x;
  }
};

// Numbers that are not finite are said in this rank's slot, and kept out of the sums.
struct CheckFinite {
  double *first, *last;  // of what this rank brings
  double* slot;
  DRL_HD void operator()(int64_t) const {
    bool finite = true;
    for (const double* x = first; x != last; ++x) finite = finite && *x - *x == 0;
    if (finite) return;
    for (double* x = first; x != last; ++x) *x = 0;
    *slot = 1;
  }
};

// --- Steps of the optimiser ---

// Which of F's lanes, from index i on, lie below `bound`.
template <class F>
DRL_HD Mask<F> below(int64_t i, int64_t bound) {
  const int64_t left = bound - i, width = kLanesOf<F>;
  return lane_numbers<Int<F>>() < Int<F>(static_cast<int32_t>(left < 0 ? 0 : left > width ? width : left));
}

// What an Adam step is for all parameters: learning_rate / (1 - beta1^n) and 1 / sqrt(1 - beta2^n) at step n (Kingma
// and Ba, "Adam: A Method for Stochastic Optimization", arXiv:1412.6980).
struct AdamScale {
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
  float step_size, inv_sqrt_correction2, epsilon;

  DRL_HD static AdamScale at(int64_t step, double learning_rate, double epsilon) {
    return {static_cast<float>(learning_rate / (1 - power(kBeta1, step))),
            static_cast<float>(1 / math::sqrt_double(1 - power(kBeta2, step))), static_cast<float>(epsilon)};
  }
  // A parameter p with its gradient g and moments m, v.
  template <class F>
  DRL_HD void update(F& p, F g, F& m, F& v) const {
    constexpr float beta1 = kBeta1, beta2 = kBeta2, rest1 = 1 - kBeta1, rest2 = 1 - kBeta2;
    m = F(beta1) * m + F(rest1) * g;
    v = F(beta2) * v + F(rest2) * g * g;
    p = p - F(step_size) * m / (math::sqrt(v) * F(inv_sqrt_correction2) + F(epsilon));
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
