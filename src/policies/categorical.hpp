// One of a number of choices: the network gives the logits.
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policies/noise.hpp"

namespace drl {

struct Categorical {
  using Action = int32_t;
  int size;  // number of choices

  int action_size() const { return 1; }
  int free_parameters() const { return 0; }

  // Draws the choices of F's environments from the logits `out` [n, size], by the inverse of the cumulative
  // distribution. Returns their log-probabilities.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, int32_t* action, float*) const {
    const Norm<F> norm = norm_of<F>([&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, k); });
    const F target = uniform01(noise.bits<F>(i, 0)[0]) * norm.sum;
    F below = F(0), chosen = load_column<F>(out, i, size, 0);  // probability mass (times sum) of the choices up to k
    Int<F> choice = Int<F>(0);
    for (int k = 0; k + 1 < size; ++k) {
      below = below + math::exp(load_column<F>(out, i, size, k) - norm.largest);
      const Mask<F> beyond = below <= target;
      choice = math::select(beyond, Int<F>(k + 1), choice);
      chosen = math::select(beyond, load_column<F>(out, i, size, k + 1), chosen);
    }
    store(action + i, choice);
    return chosen - norm.largest - math::log(norm.sum);
  }

  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, int32_t* action, float*) const {
    F largest = load_column<F>(out, i, size, 0);
    Int<F> choice = Int<F>(0);
    for (int k = 1; k < size; ++k) {
      const F x = load_column<F>(out, i, size, k);
      choice = math::select(largest < x, Int<F>(k), choice);
      largest = math::max(largest, x);
    }
    store(action + i, choice);
  }

  // Samples i, i + 1, ... of logits `out` [B, size], which are the rollout's samples `row`. Entropy is -sum p log p,
  // KL(old || new) = sum p_old (log p_old - log p_new). Leaves the probabilities in d_out.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const int32_t* action, int64_t i, Int<F> row,
                               float* d_out) const {
    const auto now = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, k); };
    const auto before = [&](int k) DRL_LAMBDA { return gather<F>(old_out + k, row, size); };
    const F log_sum = norm_of<F>(now).log_sum(), old_log_sum = norm_of<F>(before).log_sum();
    const Int<F> choice = gather<Int<F>>(action, row);
    Evaluated<F> e{F(0), F(0), F(0)};
    for (int k = 0; k < size; ++k) {
      const F log_p = now(k) - log_sum, old_log_p = before(k) - old_log_sum, p = math::exp(log_p);
      store_column(d_out, i, size, k, p);
      e.entropy = e.entropy - p * log_p;
      e.kl = e.kl + math::exp(old_log_p) * (old_log_p - log_p);
      e.log_prob = math::select(choice == Int<F>(k), log_p, e.log_prob);
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // d log p_a / d logit_k = [k = a] - p_k; d entropy / d logit_k = -p_k (log p_k + entropy).
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const int32_t* action, int64_t i, Int<F> row, const Evaluated<F>& e,
                       F d_log_prob, float entropy_coef, float* d_out, Sums&, int) const {
    const Int<F> choice = gather<Int<F>>(action, row);
    const F log_sum = norm_of<F>([&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, k); }).log_sum();
    for (int k = 0; k < size; ++k) {
      const F p = load_column<F>(d_out, i, size, k), log_p = load_column<F>(out, i, size, k) - log_sum;
      const F chosen = math::select(choice == Int<F>(k), F(1), F(0));
      store_column(d_out, i, size, k, d_log_prob * (chosen - p) + F(entropy_coef) * p * (log_p + e.entropy));
    }
  }

 private:
  template <class F>
  struct Norm {
    F largest, sum;  // sum of exp(logit - largest)
    DRL_HD F log_sum() const { return largest + math::log(sum); }
  };
  template <class F, class Logit>
  DRL_HD Norm<F> norm_of(Logit&& logit) const {
    Norm<F> norm{logit(0), F(0)};
    for (int k = 1; k < size; ++k) norm.largest = math::max(norm.largest, logit(k));
    for (int k = 0; k < size; ++k) norm.sum = norm.sum + math::exp(logit(k) - norm.largest);
    return norm;
  }
};

}  // namespace drl
