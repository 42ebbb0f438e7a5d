// A Gaussian like StateGaussian, whose samples are squashed to the bounds of the actions by tanh (squash.hpp).
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policy/noise.hpp"
#include "policy/squash.hpp"
#include "policy/state_gaussian.hpp"

namespace drl {

struct SquashedStateGaussian {
  using Action = float;
  static constexpr const char* kName = "squashed_state_gaussian";
  static constexpr const char* kChoice = nullptr;
  static constexpr Outputs kOutputs = Outputs::means_and_stds_before_tanh;
  static constexpr bool kFusedOnGpu = false;
  int size;             // dimensions of an action
  bool log_std = true;  // the network computes the logarithms of the standard deviations
  float std_low = 0;    // bounds of what it computes
  float std_high = 0;
  const float* low = nullptr;  // [size], finite bounds
  const float* high = nullptr;

  int outputs() const { return 2 * size; }
  int action_size() const { return size; }
  int free_parameters() const { return 0; }
  float initial_std(float std) const { return std; }  // as that of StateGaussian

  // Returns the distribution of the numbers that are squashed.
  DRL_HD StateGaussian unsquashed() const { return {size, log_std, std_low, std_high}; }
  template <class F>
  DRL_HD F std_at(const float* out, int64_t i, int k) const {
    return unsquashed().std_at<F>(out, i, k);
  }

  // Dimension k of a sample: x = mean + std z, with standard normal z, its tanh, and its part of the log-probability.
  template <class F>
  struct Drawn {
    StateGaussian::Normal<F> normal;
    F z, tanh, log_prob;
  };
  // Calls use(k, drawn) for each dimension of samples i, i + 1, ..., with the random numbers of Gaussian. The
  // log-probability is computed from x, by log(1 - tanh(x)^2) = 2 (log 2 - |x| - log(1 + exp(-2 |x|))).
  template <class F, class Use>
  DRL_HD void draw(const ActionNoise& noise, const float* out, int64_t i, const Use& use) const {
    standard_normals<F>(noise, i, size, [&](int k, const F& z) DRL_LAMBDA {
      const auto n = unsquashed().normal_at<F>(out, i, k);
      const F x = n.mean + n.std * z, distance = math::abs(x), decay = math::exp(F(-2) * distance),
              tanh = (F(1) - decay) / (F(1) + decay);
      const F log_slope = F(2) * (F(kLogTwo) - distance - math::log(F(1) + decay));
      use(k, Drawn<F>{n, z, math::select(x < F(0), -tanh, tanh),
                      F(-0.5f) * z * z - n.log_std - F(kHalfLogTwoPi + math::log(squash(k).half())) - log_slope});
    });
  }

  // Samples the actions of environments i, i + 1, ... from the outputs `out` [n, 2 size]. Returns their
  // log-probabilities, computed from the actions as evaluate() does.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, float* action, float* env_action) const {
    F log_prob = F(0);
    standard_normals<F>(noise, i, size, [&](int k, const F& z) DRL_LAMBDA {
      const auto n = unsquashed().normal_at<F>(out, i, k);
      const F a = store_action(i, k, n.mean + n.std * z, action, env_action);
      log_prob = log_prob + log_density(n, squash(k).unit(a), k);
    });
    return log_prob;
  }

  // Writes the actions for the means.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, float* action, float* env_action) const {
    for (int k = 0; k < size; ++k) store_action(i, k, load_column<F>(out, i, 2 * size, k), action, env_action);
  }

  // Returns log-probability, KL(old || new) and entropy as SquashedGaussian does, from outputs `out` [B, 2 size].
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const float* action, int64_t i, Int<F> row,
                               float* d_out) const {
    // KL and the entropy before squashing are those of StateGaussian.
    Evaluated<F> e = unsquashed().evaluate<F>(out, old_out, action, i, row, d_out);
    e.log_prob = F(0);
    for (int k = 0; k < size; ++k) {
      const auto now = unsquashed().normal_at<F>(out, i, k);
      e.log_prob = e.log_prob + log_density(now, squash(k).unit(gather<F>(action + k, row, size)), k);
      e.entropy = e.entropy + (F(math::log(squash(k).half())) + SquashSlopes<F>::at(now.mean, now.std).log_slope);
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef. It is 0 for a
  // standard deviation that is at its bound.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const float* action, int64_t i, Int<F> row, const Evaluated<F>&, F d_log_prob,
                       F entropy_coef, float* d_out, Sums&, int) const {
    for (int k = 0; k < size; ++k) {
      const auto n = unsquashed().normal_at<F>(out, i, k);
      const F x = Squash::inverse_tanh(squash(k).unit(gather<F>(action + k, row, size))), z = (x - n.mean) / n.std;
      const auto s = SquashSlopes<F>::at(n.mean, n.std);
      store_column(d_out, i, 2 * size, k, d_log_prob * z / n.std - entropy_coef * s.d_mean);
      store_column(d_out, i, 2 * size, size + k,
                   unsquashed().d_raw(n, d_log_prob * (z * z - F(1)) - entropy_coef * (F(1) + s.d_log_std)));
    }
  }

  DRL_HD Squash squash(int k) const { return {low[k], high[k]}; }

 private:
  static constexpr float kLogTwo = 0.69314718055994530942f;
  // The density of x, divided by the slope of the action, half (1 - u^2).
  template <class F>
  DRL_HD F log_density(const StateGaussian::Normal<F>& n, F u, int k) const {
    const F z = (Squash::inverse_tanh(u) - n.mean) / n.std;
    return F(-0.5f) * z * z - n.log_std - F(kHalfLogTwoPi + math::log(squash(k).half())) -
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
