// The numbers of one iteration, reduced over all ranks, as every report shows them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace drl {

struct IterationMetrics {
  int64_t iteration = 0;       // finished iterations; the first reports 1
  int64_t max_iterations = 0;  // absolute target
  int64_t env_steps = 0;       // over all ranks, since the run began
  double steps_per_second = 0;

  // Over the fewest latest iterations that hold at least 100 episodes; NaN before the first episode ends.
  double mean_reward = 0, mean_episode_length = 0;
  double episodes = 0;                                       // ended in this iteration
  std::vector<std::pair<std::string, double>> reward_terms;  // mean sum per episode, same window

  double value_loss = 0, surrogate_loss = 0, entropy = 0, kl = 0, clip_fraction = 0, gradient_norm = 0;
  double explained_variance = 0, learning_rate = 0;
  double action_std = 0;  // mean over dimensions; NaN for discrete actions

  // Seconds of rank 0; collection of the slowest rank, where the others count with the iteration before.
  double collection_time = 0, learning_time = 0, waiting_time = 0, iteration_time = 0, elapsed_time = 0;
};

}  // namespace drl
