// The losses of critics and their targets, which off-policy algorithms share.
#pragma once

#include <cstdint>

#include "algorithms/replay.hpp"
#include "algorithms/update_kernels.hpp"

namespace drl {

inline constexpr int kCritics = 2;

// Which of the critics' values counts: the smaller one, their mean, or that of the first critic.
enum class Critics : int32_t { smaller, mean, first };

// The values that the critics give to samples, and how they count as one.
struct CriticValues {
  const float* q[kCritics];  // [B] each; with Critics::first, only the first is read
  Critics use;
  template <class F>
  DRL_HD F at(int64_t i) const {
    const F a = load<F>(q[0] + i);
    if (use == Critics::first) return a;
    const F b = load<F>(q[1] + i);
    return use == Critics::mean ? F(0.5f) * (a + b) : math::min(a, b);
  }
  // Returns the share of critic c in at(), the derivative with respect to its value.
  DRL_HD float share(int c, int64_t i) const {
    if (use == Critics::first) return c == 0 ? 1.0f : 0.0f;
    if (use == Critics::mean) return 0.5f;
    return (q[0][i] <= q[1][i]) == (c == 0) ? 1.0f : 0.0f;
  }
  int used() const { return use == Critics::first ? 1 : kCritics; }
};

// target = return + discount (Q'(s', a') - temperature log pi(a' | s')), with the target critics Q'. Without a
// temperature (null), it has no last term.
struct CriticTargets {
  CriticValues next;
  const float *returns, *discount, *next_log_prob, *log_temperature;
  float* target;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F value = next.at<F>(i);
    if (log_temperature) value = value - math::exp(F(*log_temperature)) * load<F>(next_log_prob + i);
    store(target + i, load<F>(returns + i) + load<F>(discount + i) * value);
  }
};

struct CriticColumn {
  enum : int { loss = kKl + 1, value, count };
};

// loss = sum over the critics of (Q(s, a) - target)^2.
struct CriticLoss {
  CriticValues now;
  const float* target;
  float* d_q[kCritics];
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    F loss = F(0);
    for (int c = 0; c < kCritics; ++c) {
      const F error = load<F>(now.q[c] + i) - load<F>(target + i);
      store(d_q[c] + i, F(2) * error);
      loss = loss + error * error;
    }
    sums.add(kSamples, F(1));
    sums.add(CriticColumn::loss, loss);
    sums.add(CriticColumn::value, now.at<F>(i));
  }
};

// Writes the derivatives of -Q(s, a) with respect to the critics' values.
struct ValueDerivatives {
  CriticValues values;
  float* d_q[kCritics];
  DRL_HD void operator()(int64_t i) const {
    for (int c = 0; c < kCritics; ++c) d_q[c][i] = -values.share(c, i);
  }
};

// Columns of an actor's loss.
struct ActorColumn {
  enum : int { loss = kKl + 1, log_prob, count };  // log_prob: of SAC
};

// Moves target parameters towards the parameters: p' = p' + tau (p - p').
struct MoveTargets {
  const float* params;
  float tau;
  float* target;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const F old = load<F>(target + i);
    store(target + i, old + F(tau) * (load<F>(params + i) - old));
  }
};

}  // namespace drl
