// The distribution of continuous actions: a diagonal Gaussian. The network's outputs are the means; the standard
// deviation is a separate learned parameter that does not depend on the observation.
#pragma once

#include <cstdint>

#include "device/fast_math.hpp"
#include "drl/math.hpp"
#include "policy/noise.hpp"

namespace drl {

struct Gaussian {
  using Action = float;
  static constexpr const char* kName = "gaussian";
  static constexpr const char* kChoice = "clipped to the task's bounds";
  static constexpr Outputs kOutputs = Outputs::means;
  static constexpr bool kFusedOnGpu = true;
  int size;                    // dimensions of an action
  const float* low = nullptr;  // [size], the bounds to which the environment's action is clipped
  const float* high = nullptr;
  const float* param = nullptr;  // [size], the learned parameter: standard deviation or its logarithm
  bool log_std = true;           // `param` is the logarithm
  float* std = nullptr;          // [size], standard deviations with which the rollout's actions were sampled

  int outputs() const { return size; }
  int action_size() const { return size; }
  int free_parameters() const { return size; }
  // Returns the current standard deviation of dimension k.
  DRL_HD float std_now(int k) const { return log_std ? fast_exp(param[k]) : param[k]; }

  // Samples the actions of environments i, i + 1, ... (one per lane of F) from the means `out` [n, size]. Returns their
  // log-probabilities.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, float* action, float* env_action) const {
    F log_prob = F(0);
    standard_normals<F>(noise, i, size, [&](int k, const F& normal) DRL_LAMBDA {
      const F mean = load_column<F>(out, i, size, k);
      store_action(i, k, mean + F(std[k]) * normal, action, env_action);
      log_prob = log_prob + (F(-0.5f) * normal * normal - F(fast_log(std[k]) + kHalfLogTwoPi));
    });
    return log_prob;
  }

  // Writes the most probable actions of the same environments: the means.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, float* action, float* env_action) const {
    for (int k = 0; k < size; ++k) store_action(i, k, load_column<F>(out, i, size, k), action, env_action);
  }

  // Returns log-probability, KL(old || new) and entropy of samples i, i + 1, ... of a tile with means `out` [B, size].
  // `row` holds the samples' indices into the rollout's arrays `old_out` and `action`.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const float* action, int64_t i, Int<F> row,
                               float* /*d_out*/) const {
    Evaluated<F> e{};
    DRL_ROLLED
    for (int k = 0; k < size; ++k) {
      const float now = std_now(k), before = std[k], inv_std = 1.0f / now, log_std_now = fast_log(now);
      const F mean = load_column<F>(out, i, size, k), old_mean = gather<F>(old_out + k, row, size);
      const F z = (gather<F>(action + k, row, size) - mean) * F(inv_std), shift = mean - old_mean;
      e.log_prob = e.log_prob + (F(-0.5f) * z * z - F(log_std_now + kHalfLogTwoPi));
      e.kl = e.kl +
             (F(fast_log(now / before)) + (F(before * before) + shift * shift) * F(0.5f * inv_std * inv_std) - F(0.5f));
      e.entropy = e.entropy + F(0.5f + kHalfLogTwoPi + log_std_now);
    }
    return e;
  }

  // Writes d loss / d out, and adds d loss / d param to columns column, column + 1, ... of `sums`. Here
  // d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // d log_prob / d mean = z / std; d log_prob / d log std = z^2 - 1; d entropy / d log std = 1.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const float* action, int64_t i, Int<F> row, const Evaluated<F>&, F d_log_prob,
                       F entropy_coef, float* d_out, Sums& sums, int column) const {
    DRL_ROLLED
    for (int k = 0; k < size; ++k) {
      const float now = std_now(k), inv_std = 1.0f / now;
      const F z = (gather<F>(action + k, row, size) - load_column<F>(out, i, size, k)) * F(inv_std);
      store_column(d_out, i, size, k, d_log_prob * z * F(inv_std));
      const F d_log_std = d_log_prob * (z * z - F(1.0f)) - entropy_coef;
      sums.add(column + k, log_std ? d_log_std : d_log_std * F(inv_std));
    }
  }

 private:
  // Stores x, and x clipped to the bounds for the environment.
  template <class F>
  DRL_HD void store_action(int64_t i, int k, F x, float* action, float* env_action) const {
    store_column(action, i, size, k, x);
    store_column(env_action, i, size, k, math::clamp(x, F(low[k]), F(high[k])));
  }
};

}  // namespace drl
