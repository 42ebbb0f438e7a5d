// Collects rollouts: steps the environments with the policy.
#pragma once

#include <cstdint>

#include "algorithms/actor_critic.hpp"
#include "algorithms/algorithm_kernels.hpp"
#include "algorithms/rollout.hpp"
#include "envs/vec_env.hpp"
#include "nets/nets.hpp"

namespace drl {

class Collector {
 public:
  // The caller owns the referenced objects, which must outlive the Collector (`spec` need not). `first_env` is the
  // global index of environment 0.
  Collector(Nets& nets, const ActorCritic& spec, const Weights& weights, VecEnv& envs, Rollout& rollout, uint64_t seed,
            int64_t first_env, ActionChoice choice);

  // Enqueues the collection of a rollout, starting from the observations in row 0. `first_step`, in the queue's memory,
  // is the environments' lifetime step at row 0.
  void collect(const NormalizerView& normalizer, const int64_t* first_step);
  const ActionDistribution& distribution() const { return distribution_; }

 private:
  void choose_actions(const NormalizerView& normalizer, LifetimeStep step, int64_t begin, int64_t count);

  Nets& nets_;
  NetId actor_;
  const Weights& weights_;
  VecEnv& envs_;
  Rollout& rollout_;
  uint64_t seed_;
  int64_t first_env_;
  ActionChoice choice_;
  ActionDistribution distribution_;
};

}  // namespace drl
