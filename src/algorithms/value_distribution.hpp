// Critics that estimate the distribution of returns: probabilities of values at equal distances, the atoms (Bellemare,
// Dabney and Munos, "A Distributional Perspective on Reinforcement Learning", arXiv:1707.06887).
#pragma once

#include <cstdint>

#include "algorithms/off_policy_kernels.hpp"

namespace drl {

// The atoms: `count` values from `low` to `high`.
struct Atoms {
  int count;
  float low, high;
  DRL_HD float gap() const { return (high - low) / static_cast<float>(count - 1); }
  DRL_HD float value(int k) const { return low + static_cast<float>(k) * gap(); }
};

// Replaces a critic's outputs by their softmax, the atoms' probabilities, and writes the expected values.
struct AtomProbabilities {
  Atoms atoms;
  float* out;  // [B, atoms]
  float* q;    // [B]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F most = load_column<F>(out, i, atoms.count, 0), sum = F(0), mean = F(0);
    for (int k = 1; k < atoms.count; ++k) most = math::max(most, load_column<F>(out, i, atoms.count, k));
    for (int k = 0; k < atoms.count; ++k) {
      const F weight = math::exp(load_column<F>(out, i, atoms.count, k) - most);
      store_column(out, i, atoms.count, k, weight);
      sum = sum + weight;
    }
    for (int k = 0; k < atoms.count; ++k) {
      const F p = load_column<F>(out, i, atoms.count, k) / sum;
      store_column(out, i, atoms.count, k, p);
      mean = mean + p * F(atoms.value(k));
    }
    store(q + i, mean);
  }
};

// The distribution of return + discount (Z' - temperature log pi(a' | s')), where Z' has the target critics'
// distribution: that of the critic with the smaller expected value, or the mean of both. Values beyond the atoms count
// as the outermost atom, and the probability of a value between two atoms is shared in proportion to its distances.
struct ProjectTargets {
  Atoms atoms;
  CriticValues next;
  const float* p[kCritics];  // [B, atoms], of the target critics
  const float *returns, *discount, *next_log_prob, *log_temperature;
  float* target;  // [B, atoms]
  DRL_HD void operator()(int64_t i) const {
    const int64_t row = i * atoms.count;
    const float first = next.share(0, i), second = next.share(1, i);
    float shift = returns[i];
    if (log_temperature) shift -= discount[i] * math::exp(*log_temperature) * next_log_prob[i];
    for (int k = 0; k < atoms.count; ++k) target[row + k] = 0;
    for (int k = 0; k < atoms.count; ++k) {
      const float value = math::clamp(shift + discount[i] * atoms.value(k), atoms.low, atoms.high);
      const float place = (value - atoms.low) / atoms.gap();
      const int below = math::min(static_cast<int>(math::max(0.0f, place)), atoms.count - 2);  // 0 for NaN
      const float upper = place - static_cast<float>(below), mass = first * p[0][row + k] + second * p[1][row + k];
      target[row + below] += mass * (1 - upper);
      target[row + below + 1] += mass * upper;
    }
  }
};

// loss = sum over the critics of the cross-entropy, -sum_k target_k log p_k. Replaces the probabilities by its
// derivatives with respect to the critics' outputs, p - target.
struct DistributionLoss {
  Atoms atoms;
  CriticValues now;
  const float* target;
  float* p[kCritics];
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    F loss = F(0);
    for (int c = 0; c < kCritics; ++c)
      for (int k = 0; k < atoms.count; ++k) {
        const F of_atom = load_column<F>(p[c], i, atoms.count, k), wanted = load_column<F>(target, i, atoms.count, k);
        loss = loss - wanted * math::log(math::max(of_atom, F(1e-37f)));  // log 0 is not finite
        store_column(p[c], i, atoms.count, k, of_atom - wanted);
      }
    sums.add(kSamples, F(1));
    sums.add(CriticColumn::loss, loss);
    sums.add(CriticColumn::value, now.at<F>(i));
  }
};

// Replaces a critic's probabilities by the derivatives of d_q times its expected value with respect to its outputs.
struct ExpectedValueGradient {
  Atoms atoms;
  const float *q, *d_q;
  float* p;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const F mean = load<F>(q + i), d = load<F>(d_q + i);
    for (int k = 0; k < atoms.count; ++k)
      store_column(p, i, atoms.count, k, d * load_column<F>(p, i, atoms.count, k) * (F(atoms.value(k)) - mean));
  }
};

}  // namespace drl
