// Random network distillation (Burda et al., "Exploration by Random Network Distillation", arXiv:1810.12894), with the
// meaning of rsl_rl's rnd_cfg (Schwarke et al., "Curiosity-Driven Learning of Joint Locomotion and Manipulation Tasks",
// CoRL 2023). The target, a network with random weights, computes an embedding of each observation, and the predictor
// learns to compute the same. The distance between the two is large for observations that the predictor has seldom
// seen, and is added to the rewards as the intrinsic reward.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/learner_parts.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/ppo/options.hpp"
#include "algorithms/ppo/rnd_kernels.hpp"
#include "algorithms/slots.hpp"
#include "base/metric.hpp"

namespace drl {

// The networks, normalisers and optimiser of random network distillation. Functions named enqueue_... enqueue.
class RandomNetworkDistillation {
 public:
  // Initialises the networks from the seed, and adds the places of its sums to `slots` and `gradients`. All arguments
  // but the options must outlive it.
  RandomNetworkDistillation(const LearnerParts& parts, const RndOptions& options, const RolloutView& rollout,
                            Slots& slots, Gradients& gradients);

  // Adds the intrinsic rewards to the rollout's rewards, before the all-reduce of `slots`. The reward of a step is that
  // of the observation after it, as in rsl_rl. `lifetime_step` is that of row 0, in the queue's memory.
  void enqueue_rewards(const int64_t* lifetime_step, Slots& slots);
  // Computes the predictor's gradient over the samples `rows` [count].
  void enqueue_gradient(const int32_t* rows, int64_t count);
  // Takes the step of Adam, after the all-reduce of the gradients.
  void enqueue_step();
  void enqueue_end();

  // Reads the results after the iteration, whose rollout ended before lifetime step `end_step`, and merges the moments.
  // Throws the same error on all ranks if the gradient was not finite.
  void end(int64_t end_step, const Slots& slots);
  std::vector<Metric> metrics() const;

  void visit_state(StateVisitor& visitor);
  void state_changed();

 private:
  RndOptions options_;
  Queue& queue_;
  const RolloutView& rollout_;
  const float* obs_;  // [T+1, N, inputs] of the rollout
  int64_t inputs_;
  RndWeight weight_;
  ParamLayout predictor_layout_;  // the predictor alone, which comes first in the layout of both networks
  std::unique_ptr<Nets> nets_;
  NetId predictor_ = 0, target_ = 1;
  Array<float> params_;
  std::unique_ptr<Weights> weights_;
  Optimizer optimizer_;  // of the predictor
  std::unique_ptr<Tape> tape_;
  int64_t tile_rows_;
  Array<float> embedding_;    // [T+1, N, outputs], the target's
  Array<float> prediction_;   // [T, N, outputs], of the observations after the steps
  Array<float> intrinsic_;    // [T, N], intrinsic rewards
  Array<float> out_, d_out_;  // [tile, outputs], of the predictor
  Normalizer state_normalizer_, reward_normalizer_;
  Array<float> running_, discounted_;  // [N], and [T, N]: discounted sums of intrinsic rewards
  Slots::Place state_moments_, discounted_moments_, rewards_;
  Array<double> scratch_;
  double mean_reward_ = 0, last_weight_ = 0;
};

}  // namespace drl
