#pragma once

#include <cstdint>

namespace drl {

// Statistics that a curriculum receives after each iteration, over the episodes that ended in it on all ranks.
struct TrainingStats {
  int64_t iteration;  // of the run, from 0
  int64_t steps;      // of each environment in the iteration
  double episodes;    // how many ended; if 0, all means are 0
  double mean_reward, mean_length;
  const double *reward_terms, *metrics, *ends;  // means (for ends: shares), in the task's order
};

}  // namespace drl
