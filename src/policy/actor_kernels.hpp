// The kernels of choosing actions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drl/math.hpp"
#include "drl/task/step_row.hpp"
#include "policy/distribution.hpp"

namespace drl {

// Writes the current standard deviation of each action dimension k, if the distribution has learned ones.
template <class Policy>
struct StandardDeviations {
  Policy policy;
  DRL_HD void operator()(int64_t k) const {
    if constexpr (HasStdParameter<Policy>) policy.std[k] = policy.std_now(static_cast<int>(k));
  }
};

enum class ActionChoice { sample, most_probable };

// How actions are chosen. Their noise depends on the seed, the environment's global index and its lifetime step.
struct ActionSource {
  ActionChoice choice;
  uint64_t seed;
  int64_t first_env;  // the global index of environment 0
};

// The arrays that one step of N environments reads and writes, in the queue's memory.
struct ActionRow {
  const float* obs;   // [N, observations], not normalised
  float* out;         // [N, outputs], the distributions' means or logits
  std::byte* action;  // [N, action_size()] of the distribution's Action
  float* env_action;  // [N, action_size()], clipped to the bounds; not written for discrete actions
  float* log_prob;    // [N], of the actions; written only if they are sampled
};

template <class Policy>
struct ChooseActions {
  Policy policy;
  ActionSource source;
  LifetimeStep step;
  ActionRow row;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    auto* action = reinterpret_cast<typename Policy::Action*>(row.action);
    if (source.choice == ActionChoice::most_probable)
      return policy.template most_probable<F>(row.out, i, action, row.env_action);
    const ActionNoise noise{source.seed, source.first_env, step.value()};
    store(row.log_prob + i, policy.template sample<F>(noise, row.out, i, action, row.env_action));
  }
};

}  // namespace drl
