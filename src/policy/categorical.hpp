// The distribution of discrete actions: one choice, or one for each of several independent heads (MultiDiscrete). The
// network's outputs are the logits, head after head.
#pragma once

#include <cstdint>

#include "device/fast_math.hpp"
#include "drl/math.hpp"
#include "policy/noise.hpp"

namespace drl {

struct Categorical {
  using Action = int32_t;
  static constexpr const char* kName = "categorical";
  static constexpr const char* kChoice = nullptr;
  static constexpr Outputs kOutputs = Outputs::logits;
  static constexpr bool kFusedOnGpu = true;
  int size;  // number of choices, summed over the heads
  int heads = 1;
  const int32_t* counts = nullptr;  // [heads] number of choices of each head; null for a single head

  int outputs() const { return size; }
  int action_size() const { return heads; }
  int free_parameters() const { return 0; }

  // Samples the actions of environments i, i + 1, ... (one per lane of F) from the logits `out` [n, size] by inverting
  // the cumulative distribution. Returns their log-probabilities.
  template <class F>
  DRL_HD F sample(const ActionNoise& noise, const float* out, int64_t i, int32_t* action, float*) const {
    F log_prob = F(0);
    Words4Of<Bits<F>> bits{};
    DRL_ROLLED
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      if (h % 4 == 0) bits = noise.bits<F>(i, h / 4);
      const auto logit = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const SoftmaxNorm<F> norm = softmax_norm<F>(logit, count(h));
      const F target = uniform01(bits[h % 4]) * norm.sum;
      // below: the sum of exp(logit - largest) over the choices up to k; chosen: the logit of `choice`.
      F below = F(0), chosen = logit(0);
      Int<F> choice = Int<F>(0);
      DRL_ROLLED
      for (int k = 0; k + 1 < count(h); ++k) {
        below = below + fast_exp(logit(k) - norm.largest);
        const Mask<F> beyond = below <= target;
        choice = math::select(beyond, Int<F>(k + 1), choice);
        chosen = math::select(beyond, logit(k + 1), chosen);
      }
      store_choice<F>(action, i, h, choice);
      log_prob = log_prob + (chosen - norm.largest - fast_log(norm.sum));
    }
    return log_prob;
  }

  // Writes the most probable actions of the same environments.
  template <class F>
  DRL_HD void most_probable(const float* out, int64_t i, int32_t* action, float*) const {
    DRL_ROLLED
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      F largest = load_column<F>(out, i, size, first);
      Int<F> choice = Int<F>(0);
      DRL_ROLLED
      for (int k = 1; k < count(h); ++k) {
        const F x = load_column<F>(out, i, size, first + k);
        choice = math::select(largest < x, Int<F>(k), choice);
        largest = math::max(largest, x);
      }
      store_choice<F>(action, i, h, choice);
    }
  }

  // Returns log-probability, KL and entropy of samples i, i + 1, ... of a tile with logits `out` [B, size]. `row` holds
  // the samples' indices into the rollout's arrays `old_out` and `action`. The entropy is -sum p log p, and
  // KL(old || new) is sum p_old (log p_old - log p_new). Writes the probabilities to d_out, for gradient().
  template <class F>
  DRL_HD Evaluated<F> evaluate(const float* out, const float* old_out, const int32_t* action, int64_t i, Int<F> row,
                               float* d_out) const {
    Evaluated<F> e{};
    DRL_ROLLED
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      const Int<F> choice = gather<Int<F>>(action + h, row, heads);
      const auto logit = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const auto old_logit = [&](int k) DRL_LAMBDA { return gather<F>(old_out + first + k, row, size); };
      const F log_sum = softmax_norm<F>(logit, count(h)).log_sum(),
              old_log_sum = softmax_norm<F>(old_logit, count(h)).log_sum();
      e.log_norm = log_sum;
      F chosen = F(0);
      DRL_ROLLED
      for (int k = 0; k < count(h); ++k) {
        const F log_p = logit(k) - log_sum, old_log_p = old_logit(k) - old_log_sum, p = fast_exp(log_p);
        store_column(d_out, i, size, first + k, p);
        e.entropy = e.entropy - p * log_p;
        e.kl = e.kl + fast_exp(old_log_p) * (old_log_p - log_p);
        chosen = math::select(choice == Int<F>(k), log_p, chosen);
      }
      e.log_prob = e.log_prob + chosen;
    }
    return e;
  }

  // Writes d loss / d out, where d loss / d log_prob = d_log_prob and d loss / d entropy = -entropy_coef.
  // d log p_a / d logit_k = [k = a] - p_k; d entropy / d logit_k = -p_k (log p_k + entropy), with the head's entropy.
  template <class F, class Sums>
  DRL_HD void gradient(const float* out, const int32_t* action, int64_t i, Int<F> row, const Evaluated<F>& e,
                       F d_log_prob, F entropy_coef, float* d_out, Sums&, int) const {
    DRL_ROLLED
    for (int h = 0, first = 0; h < heads; first += count(h++)) {
      const auto logit = [&](int k) DRL_LAMBDA { return load_column<F>(out, i, size, first + k); };
      const auto probability = [&](int k) DRL_LAMBDA { return load_column<F>(d_out, i, size, first + k); };
      const Int<F> choice = gather<Int<F>>(action + h, row, heads);
      const F log_sum = heads == 1 ? e.log_norm : softmax_norm<F>(logit, count(h)).log_sum();
      F entropy = e.entropy;
      if (heads > 1) {
        entropy = F(0);
        DRL_ROLLED
        for (int k = 0; k < count(h); ++k) entropy = entropy - probability(k) * (logit(k) - log_sum);
      }
      DRL_ROLLED
      for (int k = 0; k < count(h); ++k) {
        const F p = probability(k), log_p = logit(k) - log_sum;
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
  struct SoftmaxNorm {
    F largest, sum;  // sum of exp(logit - largest)
    DRL_HD F log_sum() const { return largest + fast_log(sum); }
  };
  template <class F, class Logit>
  DRL_HD SoftmaxNorm<F> softmax_norm(Logit&& logit, int n) const {
    SoftmaxNorm<F> norm{logit(0), F(0)};
    DRL_ROLLED
    for (int k = 1; k < n; ++k) norm.largest = math::max(norm.largest, logit(k));
    DRL_ROLLED
    for (int k = 0; k < n; ++k) norm.sum = norm.sum + fast_exp(logit(k) - norm.largest);
    return norm;
  }
};

}  // namespace drl
