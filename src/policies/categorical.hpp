// One of a number of choices, or one for each of several heads, which are independent: the network gives the logits, a
// head's behind those of the one before.
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "policies/noise.hpp"

namespace drl {

struct Categorical {
  using Action = int32_t;
  int size;  // number of choices, of all heads together
  int heads = 1;
  const int32_t* counts = nullptr;  // [heads] choices of each; null for a single head

  int action_size() const { return heads; }
  int free_parameters() const { return 0; }

  // Draws the choices of F's environments from the logits `out` [n, size], by the inverse of the cumulative
  // distribution. Returns their log-probabilities.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, int32_t* action, float*) const {
    F log_prob = F(0);
    Words4Of<Bits<F>> bits{};
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      if (h % 4 == 0) bits = noise.bits<F>(i, h / 4);
      const auto logit = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const Norm<F> norm = norm_of<F>(logit, count(h));
      const F target = uniform01(bits[h % 4]) * norm.sum;
      F below = F(0), chosen = logit(0);  // probability mass (times sum) of the choices up to k
      Int<F> choice = Int<F>(0);
      for (int k = 0; k + 1 < count(h); ++k) {
        below = below + math::exp(logit(k) - norm.largest);
        const Mask<F> beyond = below <= target;
        choice = math::select(beyond, Int<F>(k + 1), choice);
        chosen = math::select(beyond, logit(k + 1), chosen);
      }
      store_choice<F>(action, i, h, choice);
      log_prob = log_prob + (chosen - norm.largest - math::log(norm.sum));
    }
    return log_prob;
  }

  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, int32_t* action, float*) const {
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      F largest = load_column<F>(out, i, size, first);
      Int<F> choice = Int<F>(0);
      for (int k = 1; k < count(h); ++k) {
        const F x = load_column<F>(out, i, size, first + k);
        choice = math::select(largest < x, Int<F>(k), choice);
        largest = math::max(largest, x);
      }
      store_choice<F>(action, i, h, choice);
    }
  }

  // Samples i, i + 1, ... of logits `out` [B, size], which are the rollout's samples `row`. Entropy is -sum p log p,
  // KL(old || new) = sum p_old (log p_old - log p_new). Leaves the probabilities in d_out.
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const int32_t* action, int64_t i, Int<F> row,
                               float* d_out) const {
    Evaluated<F> e{F(0), F(0), F(0)};
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      const auto now = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const auto before = [&](int k) DRL_LAMBDA { return gather<F>(old_out + first + k, row, size); };
      const F log_sum = norm_of<F>(now, count(h)).log_sum(), old_log_sum = norm_of<F>(before, count(h)).log_sum();
      const Int<F> choice = gather<Int<F>>(action + h, row, heads);
      F chosen = F(0);
      for (int k = 0; k < count(h); ++k) {
        const F log_p = now(k) - log_sum, old_log_p = before(k) - old_log_sum, p = math::exp(log_p);
        store_column(d_out, i, size, first + k, p);
        e.entropy = e.entropy - p * log_p;
        e.kl = e.kl + math::exp(old_log_p) * (old_log_p - log_p);
        chosen = math::select(choice == Int<F>(k), log_p, chosen);
      }
      e.log_prob = e.log_prob + chosen;
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // d log p_a / d logit_k = [k = a] - p_k; d entropy / d logit_k = -p_k (log p_k + entropy), of a head.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const int32_t* action, int64_t i, Int<F> row, const Evaluated<F>& e,
                       F d_log_prob, F entropy_coef, float* d_out, Sums&, int) const {
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      const auto logit = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const auto share = [&](int k) DRL_LAMBDA { return load_column<F>(d_out, i, size, first + k); };
      const Int<F> choice = gather<Int<F>>(action + h, row, heads);
      const F log_sum = norm_of<F>(logit, count(h)).log_sum();
      F entropy = e.entropy;
      if (heads > 1) {
        entropy = F(0);
        for (int k = 0; k < count(h); ++k) entropy = entropy - share(k) * (logit(k) - log_sum);
      }
      for (int k = 0; k < count(h); ++k) {
        const F p = share(k), log_p = logit(k) - log_sum;
        const F chosen = math::select(choice == Int<F>(k), F(1), F(0));
        store_column(d_out, i, size, first + k, d_log_prob * (chosen - p) + entropy_coef * p * (log_p + entropy));
      }
    }
  }

 private:
  DRL_HD int count(int head) const { return heads == 1 ? size : counts[head]; }
  template <class F>
  DRL_HD void store_choice(int32_t* action, int64_t i, int head, const Int<F>& choice) const {
    if (heads == 1) {
      store(action + i, choice);
    } else {
      store_strided(action + i * heads + head, heads, choice);
    }
  }

  template <class F>
  struct Norm {
    F largest, sum;  // sum of exp(logit - largest)
    DRL_HD F log_sum() const { return largest + math::log(sum); }
  };
  template <class F, class Logit>
  DRL_HD Norm<F> norm_of(Logit&& logit, int n) const {
    Norm<F> norm{logit(0), F(0)};
    for (int k = 1; k < n; ++k) norm.largest = math::max(norm.largest, logit(k));
    for (int k = 0; k < n; ++k) norm.sum = norm.sum + math::exp(logit(k) - norm.largest);
    return norm;
  }
};

}  // namespace drl
