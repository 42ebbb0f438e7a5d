#pragma once

#include <cstdint>

#include "drl/philox.hpp"

namespace drl {

// The random numbers of actions: a function of seed, global index of the environment, and step of its lifetime.
struct ActionNoise {
  uint64_t seed;
  int64_t first_env;  // the global index of environment 0
  uint64_t step;
  // Of the environments of F's lanes, from i on.
  template <class F>
  DRL_HD Words4Of<Bits<F>> bits(int64_t i, int block) const {
    return random_bits<Bits<F>>(seed, Purpose::action, static_cast<uint64_t>(first_env + i), step,
                                static_cast<uint32_t>(block));
  }
};

// Number k of F's rows, from row i on, of an array [rows, size]; and back.
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

// What a loss asks of a distribution for F's samples.
template <class F>
struct Evaluated {
  F log_prob, kl, entropy;  // of the action taken; KL(old || new) in closed form
};

}  // namespace drl
