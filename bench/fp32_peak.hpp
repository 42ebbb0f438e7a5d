// The loop that fp32_peak measures.
#pragma once

#include <cstdint>

#include "drl/math.hpp"

namespace drl {

// Does `rounds` multiply-adds on each of kSums sums in every lane. kSums is large enough to hide the latency of a
// multiply-add (4 cycles, two per cycle) and small enough that the sums stay in registers.
struct MultiplyAdds {
  static constexpr int kSums = 10;
  float factor, term;
  int64_t rounds;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const F a(factor), b(term);
    F sums[kSums];
    for (int s = 0; s < kSums; ++s) sums[s] = F(static_cast<float>(s));
    for (int64_t k = 0; k < rounds; ++k)
      for (int s = 0; s < kSums; ++s) sums[s] = math::fma(sums[s], a, b);
    F all(0);
    for (int s = 0; s < kSums; ++s) all += sums[s];
    store(out + i, all);
  }
};

}  // namespace drl
