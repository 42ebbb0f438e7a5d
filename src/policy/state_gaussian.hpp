// The distribution of continuous actions whose standard deviation depends on the observation: a diagonal Gaussian of
// which the network computes the means and then the standard deviations, or their logarithms.
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policy/noise.hpp"

namespace drl {

struct StateGaussian {
  using Action = float;
  static constexpr const char* kName = "state_gaussian";
  static constexpr const char* kChoice = nullptr;
  static constexpr Outputs kOutputs = Outputs::means_and_stds;
  static constexpr bool kFusedOnGpu = false;
  int size;             // dimensions of an action
  bool log_std = true;  // the network computes the logarithms
  float std_low = 0;    // bounds of what it computes
  float std_high = 0;
  const float* low = nullptr;  // [size], the bounds to which the environment's action is clipped
  const float* high = nullptr;

  int outputs() const { return 2 * size; }
  int action_size() const { return size; }
  int free_parameters() const { return 0; }
  // Returns the network's initial output for a standard deviation, from the value of --policy.init_std in the same
  // form.
  float initial_std(float std) const { return std; }

  // Dimension k of the outputs of samples i, i + 1, ..., one per lane of F.
  template <class F>
  struct Normal {
    F mean, std, log_std;
    Mask<F> follows;  // the standard deviation follows the network's output, which is within its bounds
  };
  template <class F>
  DRL_HD Normal<F> normal(F mean, F raw) const {
    const F bounded = math::clamp(raw, F(std_low), F(std_high));
    const Mask<F> follows = bounded == raw;
    if (log_std) return {mean, math::exp(bounded), bounded, follows};
    return {mean, bounded, math::log(bounded), follows};
  }
  template <class F>
  DRL_HD Normal<F> normal_at(const float* out, int64_t i, int k) const {
    return normal(load_column<F>(out, i, 2 * size, k), load_column<F>(out, i, 2 * size, size + k));
  }
  template <class F>
  DRL_HD F std_at(const float* out, int64_t i, int k) const {
    return normal_at<F>(out, i, k).std;
  }

  // Samples the actions of environments i, i + 1, ... from the outputs `out` [n, 2 size], with the random numbers of
  // Gaussian. Returns their log-probabilities.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, float* action, float* env_action) const {
    F log_prob = F(0);
    standard_normals<F>(noise, i, size, [&](int k, const F& z) DRL_LAMBDA {
      const Normal<F> n = normal_at<F>(out, i, k);
      store_action(i, k, n.mean + n.std * z, action, env_action);
      log_prob = log_prob + (F(-0.5f) * z * z - n.log_std - F(kHalfLogTwoPi));
    });
    return log_prob;
  }

  // Writes the most probable actions of the same environments: the means.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, float* action, float* env_action) const {
    for (int k = 0; k < size; ++k) store_action(i, k, load_column<F>(out, i, 2 * size, k), action, env_action);
  }

  // Returns log-probability, KL(old || new) and entropy of samples i, i + 1, ... of a tile with outputs `out`
  // [B, 2 size]. `row` holds the samples' indices into the rollout's arrays `old_out` and `action`.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const float* action, int64_t i, Int<F> row,
                               float* /*d_out*/) const {
    Evaluated<F> e{};
    for (int k = 0; k < size; ++k) {
      const Normal<F> now = normal_at<F>(out, i, k),
                      old = normal(gather<F>(old_out + k, row, 2 * size), gather<F>(old_out + size + k, row, 2 * size));
      const F z = (gather<F>(action + k, row, size) - now.mean) / now.std, shift = now.mean - old.mean;
      e.log_prob = e.log_prob + (F(-0.5f) * z * z - now.log_std - F(kHalfLogTwoPi));
      e.kl = e.kl +
             (now.log_std - old.log_std + (old.std * old.std + shift * shift) / (F(2) * now.std * now.std) - F(0.5f));
      e.entropy = e.entropy + (F(0.5f + kHalfLogTwoPi) + now.log_std);
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef. It is 0 for a
  // standard deviation that is at its bound.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const float* action, int64_t i, Int<F> row, const Evaluated<F>&, F d_log_prob,
                       F entropy_coef, float* d_out, Sums&, int) const {
    for (int k = 0; k < size; ++k) {
      const Normal<F> n = normal_at<F>(out, i, k);
      const F z = (gather<F>(action + k, row, size) - n.mean) / n.std;
      store_column(d_out, i, 2 * size, k, d_log_prob * z / n.std);
      store_column(d_out, i, 2 * size, size + k, d_raw(n, d_log_prob * (z * z - F(1.0f)) - entropy_coef));
    }
  }
  // Returns the gradient with respect to the network's output for a standard deviation from that to its logarithm.
  template <class F>
  DRL_HD F d_raw(const Normal<F>& n, F d_log_std) const {
    return math::select(n.follows, log_std ? d_log_std : d_log_std / n.std, F(0));
  }

 private:
  template <class F>
  DRL_HD void store_action(int64_t i, int k, F x, float* action, float* env_action) const {
    store_column(action, i, size, k, x);
    store_column(env_action, i, size, k, math::clamp(x, F(low[k]), F(high[k])));
  }
};

}  // namespace drl
