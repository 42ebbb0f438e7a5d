// A diagonal Gaussian whose samples are squashed to the bounds of the actions by tanh (squash.hpp).
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policy/noise.hpp"
#include "policy/squash.hpp"

namespace drl {

struct SquashedGaussian {
  using Action = float;
  static constexpr const char* kName = "squashed_gaussian";
  static constexpr const char* kChoice = "a Gaussian through tanh, within the bounds";
  static constexpr Outputs kOutputs = Outputs::means_before_tanh;
  static constexpr bool kFusedOnGpu = false;
  int size;                    // dimensions of an action
  const float* low = nullptr;  // [size], finite bounds
  const float* high = nullptr;
  const float* param = nullptr;  // [size], the learned parameter: standard deviation of x or its logarithm
  bool log_std = true;           // `param` is the logarithm
  float* std = nullptr;          // [size], standard deviations with which the rollout's actions were sampled

  int outputs() const { return size; }
  int action_size() const { return size; }
  int free_parameters() const { return size; }
  // Returns the current standard deviation of x in dimension k.
  DRL_HD float std_now(int k) const { return log_std ? math::exp(param[k]) : param[k]; }

  // Samples the actions of environments i, i + 1, ... (one per lane of F) from the means of x, `out` [n, size]. Returns
  // their log-probabilities, computed from the actions as evaluate() does.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, float* action, float* env_action) const {
    F log_prob = F(0);
    standard_normals<F>(noise, i, size, [&](int k, const F& normal) DRL_LAMBDA {
      const F mean = load_column<F>(out, i, size, k);
      const F a = store_action(i, k, mean + F(std[k]) * normal, action, env_action);
      log_prob = log_prob + log_density(mean, std[k], squash(k).unit(a), k);
    });
    return log_prob;
  }

  // Writes the actions for the means of x.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, float* action, float* env_action) const {
    for (int k = 0; k < size; ++k) store_action(i, k, load_column<F>(out, i, size, k), action, env_action);
  }

  // Returns log-probability, KL(old || new) and entropy of samples i, i + 1, ... of a tile with means `out` [B, size].
  // `row` holds the samples' indices into the rollout's arrays `old_out` and `action`. The KL divergence is that of the
  // Gaussians, because both are squashed alike.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const float* action, int64_t i, Int<F> row,
                               float* /*d_out*/) const {
    Evaluated<F> e{};
    for (int k = 0; k < size; ++k) {
      const float now = std_now(k), before = std[k], inv_std = 1.0f / now;
      const F mean = load_column<F>(out, i, size, k), shift = mean - gather<F>(old_out + k, row, size);
      e.log_prob = e.log_prob + log_density(mean, now, squash(k).unit(gather<F>(action + k, row, size)), k);
      e.kl = e.kl + (F(math::log(now / before)) + (F(before * before) + shift * shift) * F(0.5f * inv_std * inv_std) -
                     F(0.5f));
      e.entropy = e.entropy + (F(0.5f + kHalfLogTwoPi + math::log(now) + math::log(squash(k).half())) +
                               SquashSlopes<F>::at(mean, now).log_slope);
    }
    return e;
  }

  // Writes d loss / d out, and adds d loss / d param to columns column, column + 1, ... of `sums`. Here
  // d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // With z = (x - mean) / std: d log_prob / d mean = z / std; d log_prob / d log std = z^2 - 1.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const float* action, int64_t i, Int<F> row, const Evaluated<F>&, F d_log_prob,
                       F entropy_coef, float* d_out, Sums& sums, int column) const {
    for (int k = 0; k < size; ++k) {
      const float now = std_now(k), inv_std = 1.0f / now;
      const F mean = load_column<F>(out, i, size, k);
      const F z = (Squash::inverse_tanh(squash(k).unit(gather<F>(action + k, row, size))) - mean) * F(inv_std);
      const auto s = SquashSlopes<F>::at(mean, now);
      store_column(d_out, i, size, k, d_log_prob * z * F(inv_std) - entropy_coef * s.d_mean);
      const F d_log_std = d_log_prob * (z * z - F(1.0f)) - entropy_coef * (F(1) + s.d_log_std);
      sums.add(column + k, log_std ? d_log_std : d_log_std * F(inv_std));
    }
  }

  DRL_HD Squash squash(int k) const { return {low[k], high[k]}; }

 private:
  // The density of x, divided by the slope of the action, half (1 - u^2).
  template <class F>
  DRL_HD F log_density(F mean, float of_std, F u, int k) const {
    const F z = (Squash::inverse_tanh(u) - mean) * F(1.0f / of_std);
    return F(-0.5f) * z * z - F(math::log(of_std) + kHalfLogTwoPi + math::log(squash(k).half())) -
           math::log((F(1) - u) * (F(1) + u));
  }

  // Stores the action for x, and returns it.
  template <class F>
  DRL_HD F store_action(int64_t i, int k, F x, float* action, float* env_action) const {
    const F a = squash(k).action(x);
    store_column(action, i, size, k, a);
    store_column(env_action, i, size, k, a);
    return a;
  }
};

}  // namespace drl
