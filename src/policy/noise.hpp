#pragma once

#include <cstdint>

#include "drl/lanes/philox.hpp"
#include "drl/math.hpp"

namespace drl {

// The meaning of the network's outputs, from which exporters derive the most probable action.
enum class Outputs {
  means,                       // of actions, which are clipped to their bounds
  means_and_stds,              // first all means and then all standard deviations, or their logarithms
  means_before_tanh,           // an action is at (1 + tanh(mean)) / 2 between its bounds
  means_and_stds_before_tanh,  // likewise, and then the standard deviations or their logarithms
  alphas_and_betas,            // of Beta distributions between the bounds (see Beta), first all alphas
  logits                       // of choices, head after head
};
// Returns whether an action is computed from the outputs and its bounds, instead of being an output or a choice.
constexpr bool are_within_bounds(Outputs outputs) {
  return outputs == Outputs::means_before_tanh || outputs == Outputs::means_and_stds_before_tanh ||
         outputs == Outputs::alphas_and_betas;
}
// Returns what remains of the outputs without standard deviations, which do not change the most probable action.
constexpr Outputs without_stds(Outputs outputs) {
  return outputs == Outputs::means_and_stds               ? Outputs::means
         : outputs == Outputs::means_and_stds_before_tanh ? Outputs::means_before_tanh
                                                          : outputs;
}

// The random numbers of actions. They depend only on the seed, the environment's global index and its lifetime step,
// not on ranks or devices.
struct ActionNoise {
  uint64_t seed;
  int64_t first_env;  // the global index of environment 0
  uint64_t step;
  Purpose purpose = Purpose::action;
  // Returns block number `block` of four random words for environments i, i + 1, ..., one per lane of F.
  template <class F>
  DRL_HD Words4Of<Bits<F>> bits(int64_t i, int block) const {
    return random_bits<Bits<F>>(seed, purpose, static_cast<uint64_t>(first_env + i), step,
                                static_cast<uint32_t>(block));
  }
};

// Calls use(k, z) with a standard normal number z for each dimension k < size of environments i, i + 1, ..., by
// Box-Muller, in which two dimensions share a pair of random numbers.
template <class F, class Use>
DRL_HD void standard_normals(const ActionNoise& noise, int64_t i, int size, const Use& use) {
  constexpr float two_pi = 6.28318530717958647692f;
  F radius = F(0), angle = F(0);
  Words4Of<Bits<F>> bits{};
  for (int k = 0; k < size; ++k) {
    if (k % 4 == 0) bits = noise.bits<F>(i, k / 4);
    if (k % 2 == 0) {
      const bool first = k % 4 == 0;
      radius = math::sqrt(F(-2.0f) * math::log(F(1.0f) - uniform01(first ? bits[0] : bits[2])));
      angle = F(two_pi) * uniform01(first ? bits[1] : bits[3]);
    }
    use(k, radius * (k % 2 == 0 ? math::cos(angle) : math::sin(angle)));
  }
}

inline constexpr float kHalfLogTwoPi = 0.91893853320467274178f;

// Load and store column k of rows i, i + 1, ..., one per lane of F, in an array [rows, size].
template <class F>
DRL_HD F load_column(const float* from, int64_t i, int size, int k) {
  return size == 1 ? load<F>(from + i) : load_strided<F>(from + i * size + k, size);
}
template <class F>
DRL_HD void store_column(float* to, int64_t i, int size, int k, const F& x) {
  if (size == 1) {
    store(to + i, x);
  } else {
    store_strided(to + i * size + k, size, x);
  }
}

// The values that a distribution computes for the loss, for one sample per lane of F.
template <class F>
struct Evaluated {
  F log_prob = F(0), kl = F(0), entropy = F(0);  // log-probability of the action taken; KL(old || new) in closed form
  F log_norm = F(0);                             // of a choice's probabilities, of the last head
};

}  // namespace drl
