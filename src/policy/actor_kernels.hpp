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

// uniform: between the bounds, whatever the outputs; noisy: the most probable action, and noise
enum class ActionChoice { sample, most_probable, uniform, noisy };

// How actions are chosen. Their noise depends on the seed, the environment's global index and its lifetime step.
struct ActionSource {
  ActionChoice choice;
  uint64_t seed;
  int64_t first_env;  // the global index of environment 0
  float noise = 0;    // of noisy actions: its standard deviation, as a part of half the range between the bounds
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
    if constexpr (requires { policy.low; })
      if (source.choice == ActionChoice::uniform || source.choice == ActionChoice::noisy)
        return choose_from_bounds<F>(noise, i, action);
    store(row.log_prob + i, policy.template sample<F>(noise, row.out, i, action, row.env_action));
  }
  // Chooses uniform or noisy actions, which are finite only between finite bounds.
  template <class F>
  DRL_HD void choose_from_bounds(const ActionNoise& noise, int64_t i, float* action) const {
    const auto store_action = [&](int k, const F& a) DRL_LAMBDA {
      const F bounded = math::clamp(a, F(policy.low[k]), F(policy.high[k]));
      store_column(action, i, policy.size, k, bounded);
      store_column(row.env_action, i, policy.size, k, bounded);
    };
    const auto range = [&](int k) DRL_LAMBDA { return policy.high[k] - policy.low[k]; };
    if (source.choice == ActionChoice::noisy) {
      policy.template most_probable<F>(row.out, i, action, row.env_action);
      return standard_normals<F>(noise, i, policy.size, [&](int k, const F& z) DRL_LAMBDA {
        store_action(k, load_column<F>(row.env_action, i, policy.size, k) + F(0.5f * source.noise * range(k)) * z);
      });
    }
    Words4Of<Bits<F>> bits{};
    for (int k = 0; k < policy.size; ++k) {
      if (k % 4 == 0) bits = noise.bits<F>(i, k / 4);
      store_action(k, F(policy.low[k]) + F(range(k)) * uniform01(bits[k % 4]));
    }
  }
};

}  // namespace drl
