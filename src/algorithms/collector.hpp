// Steps environments with a policy, into a rollout.
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
  // All stay the caller's. `first_env`: the global index of environment 0.
  Collector(Nets& nets, const ActorCritic& spec, VecEnv& envs, Rollout& rollout, uint64_t seed, int64_t first_env,
            ActionChoice choice, const float* params);

  // Enqueues a rollout from row 0's observations on. `first_step`, in the queue's memory, is the environments' lifetime
  // step of row 0.
  void collect(const float* params, const NormalizerView& normalizer, const int64_t* first_step);
  const ActionDistribution& distribution() const { return distribution_; }

 private:
  void choose_actions(const float* params, const NormalizerView& normalizer, LifetimeStep step, int64_t begin,
                      int64_t count);

  Nets& nets_;
  NetId actor_;
  VecEnv& envs_;
  Rollout& rollout_;
  uint64_t seed_;
  int64_t first_env_;
  ActionChoice choice_;
  ActionDistribution distribution_;
};

}  // namespace drl
