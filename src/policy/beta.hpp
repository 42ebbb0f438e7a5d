// The Beta distribution of bounded actions, as in rsl_rl's BetaDistribution (Chou, Maturana, Scherer: "Improving
// Stochastic Policy Gradients in Continuous Control with Deep Reinforcement Learning using the Beta Distribution", ICML
// 2017). The network computes raw numbers of alpha and then of beta; alpha = 1 + softplus(raw), and beta likewise, so
// that the density has a single peak. An action is low + (high - low) u, where u in (0, 1) has this distribution.
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policy/noise.hpp"
#include "policy/special.hpp"

namespace drl {

struct Beta {
  using Action = float;
  static constexpr const char* kName = "beta";
  static constexpr const char* kChoice = "within the bounds";
  static constexpr Outputs kOutputs = Outputs::alphas_and_betas;
  static constexpr bool kFusedOnGpu = false;
  static constexpr float kMargin = 1e-6f;  // the density is that of u in [kMargin, 1 - kMargin]
  int size;                                // dimensions of an action
  const float* low = nullptr;              // [size], finite bounds
  const float* high = nullptr;

  int outputs() const { return 2 * size; }
  int action_size() const { return size; }
  int free_parameters() const { return 0; }
  // Returns the initial raw number of each beta.
  float initial_std(float /*std*/) const { return 0; }

  // Dimension k of the outputs of samples i, i + 1, ..., one per lane of F.
  template <class F>
  struct Shape {
    F alpha, beta;
    DRL_HD F sum() const { return alpha + beta; }
    DRL_HD F mean() const { return alpha / sum(); }
  };
  template <class F>
  DRL_HD Shape<F> shape_at(const float* out, int64_t i, int k) const {
    return {shape(load_column<F>(out, i, 2 * size, k)), shape(load_column<F>(out, i, 2 * size, size + k))};
  }
  // Returns the standard deviation of an action's dimension k.
  template <class F>
  DRL_HD F std_at(const float* out, int64_t i, int k) const {
    const Shape<F> s = shape_at<F>(out, i, k);
    return F(range(k)) * math::sqrt(s.alpha * s.beta / (s.sum() + F(1))) / s.sum();
  }

  // Samples the actions of environments i, i + 1, ... from the outputs `out` [n, 2 size]: u = x / (x + y), where x and
  // y have Gamma distributions. Returns their log-probabilities, computed from the actions as evaluate() does.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, float* action, float* env_action) const {
    F log_prob = F(0);
    for (int k = 0; k < size; ++k) {
      const Shape<F> s = shape_at<F>(out, i, k);
      const F x = gamma(noise, i, 2 * k, s.alpha), y = gamma(noise, i, 2 * k + 1, s.beta);
      const F a = store_action(i, k, x / (x + y), action, env_action);
      log_prob = log_prob + log_density(s, unit(a, k), k);
    }
    return log_prob;
  }

  // Writes the means of the same environments' actions, which rsl_rl also takes as the deterministic actions.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, float* action, float* env_action) const {
    for (int k = 0; k < size; ++k) store_action(i, k, shape_at<F>(out, i, k).mean(), action, env_action);
  }

  // Returns log-probability, KL(old || new) and entropy of samples i, i + 1, ... of a tile with outputs `out`
  // [B, 2 size]. `row` holds the samples' indices into the rollout's arrays `old_out` and `action`.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const float* action, int64_t i, Int<F> row,
                               float* /*d_out*/) const {
    Evaluated<F> e{};
    for (int k = 0; k < size; ++k) {
      const Shape<F> now = shape_at<F>(out, i, k), old = {shape(gather<F>(old_out + k, row, 2 * size)),
                                                          shape(gather<F>(old_out + size + k, row, 2 * size))};
      e.log_prob = e.log_prob + log_density(now, unit(gather<F>(action + k, row, size), k), k);
      const F log_b = log_beta(now.alpha, now.beta);
      e.kl = e.kl + (log_b - log_beta(old.alpha, old.beta) + (old.alpha - now.alpha) * digamma(old.alpha) +
                     (old.beta - now.beta) * digamma(old.beta) + (now.sum() - old.sum()) * digamma(old.sum()));
      e.entropy = e.entropy + (log_b - (now.alpha - F(1)) * digamma(now.alpha) - (now.beta - F(1)) * digamma(now.beta) +
                               (now.sum() - F(2)) * digamma(now.sum()) + F(math::log(range(k))));
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // With psi = digamma: d log_prob / d alpha = log u - psi(alpha) + psi(alpha + beta), and
  // d entropy / d alpha = -(alpha - 1) psi'(alpha) + (alpha + beta - 2) psi'(alpha + beta).
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const float* action, int64_t i, Int<F> row, const Evaluated<F>&, F d_log_prob,
                       F entropy_coef, float* d_out, Sums&, int) const {
    for (int k = 0; k < size; ++k) {
      const Shape<F> s = shape_at<F>(out, i, k);
      const F u = unit(gather<F>(action + k, row, size), k);
      const F of_sum = digamma(s.sum()), of_entropy = (s.sum() - F(2)) * trigamma(s.sum());
      const auto store_gradient = [&](int column, const F& shape, const F& log_u) DRL_LAMBDA {
        const F d_shape = d_log_prob * (log_u - digamma(shape) + of_sum) -
                          entropy_coef * (of_entropy - (shape - F(1)) * trigamma(shape));
        const F raw = load_column<F>(out, i, 2 * size, column);
        store_column(d_out, i, 2 * size, column, d_shape / (F(1) + math::exp(-raw)));  // times d softplus / d raw
      };
      store_gradient(k, s.alpha, math::log(u));
      store_gradient(size + k, s.beta, math::log(F(1) - u));
    }
  }

 private:
  DRL_HD float range(int k) const { return high[k] - low[k]; }
  // Returns 1 + log(1 + exp(raw)).
  template <class F>
  DRL_HD static F shape(F raw) {
    return F(1) + math::max(raw, F(0)) + math::log(F(1) + math::exp(-math::abs(raw)));
  }
  template <class F>
  DRL_HD F unit(F action, int k) const {
    return math::clamp((action - F(low[k])) / F(range(k)), F(kMargin), F(1 - kMargin));
  }
  template <class F>
  DRL_HD F log_density(const Shape<F>& s, F u, int k) const {
    return (s.alpha - F(1)) * math::log(u) + (s.beta - F(1)) * math::log(F(1) - u) - log_beta(s.alpha, s.beta) -
           F(math::log(range(k)));
  }

  // Returns random numbers with the Gamma distribution of these shapes, which are at least 1 (Marsaglia and Tsang, "A
  // Simple Method for Generating Gamma Variables", 2000). An attempt fails with a probability below 5 %. Each lane has
  // its own random numbers for each attempt, so its result does not depend on the other lanes.
  template <class F>
  DRL_HD F gamma(const ActionNoise& noise, int64_t i, int number, const F& shape) const {
    constexpr float two_pi = 6.28318530717958647692f;
    const F d = shape - F(1 / 3.0f), c = F(1) / math::sqrt(F(9) * d);
    F result = d;
    Mask<F> missing = shape == shape;
    for (int attempt = 0; attempt < 64 && any(missing); ++attempt) {
      const auto bits = noise.bits<F>(i, attempt * 2 * size + number);
      const F z = math::sqrt(F(-2) * math::log(F(1) - uniform01(bits[0]))) * math::cos(F(two_pi) * uniform01(bits[1]));
      const F root = F(1) + c * z, v = root * root * root, positive = math::max(v, F(1e-30f));
      const Mask<F> accepted = (F(0) < v) & (math::log(F(1) - uniform01(bits[2])) <
                                             F(0.5f) * z * z + d - d * positive + d * math::log(positive));
      result = math::select(missing & accepted, d * v, result);
      missing = missing & !accepted;
    }
    return result;
  }

  // Stores the action for u, and returns it.
  template <class F>
  DRL_HD F store_action(int64_t i, int k, F u, float* action, float* env_action) const {
    const F a = math::clamp(F(low[k]) + F(range(k)) * u, F(low[k]), F(high[k]));
    store_column(action, i, size, k, a);
    store_column(env_action, i, size, k, a);
    return a;
  }
};

}  // namespace drl
