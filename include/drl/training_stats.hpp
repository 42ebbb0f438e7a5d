#pragma once

#include <cstdint>

namespace drl {

// What a curriculum is told after each iteration: of the episodes that ended in it, on all ranks.
struct TrainingStats {
  int64_t iteration;  // of the run, from 0
  double episodes;    // without any, the means are 0
  double mean_reward, mean_length;
  const double *reward_terms, *metrics, *ends;  // means, and shares, in the task's order
};

}  // namespace drl
