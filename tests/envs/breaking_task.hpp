// A task whose values become infinite or NaN.
#pragma once

#include "drl/math.hpp"
#include "drl/task.hpp"

namespace drl {

// The action selects which value is not finite: none, the state, the actor's observation, the critic's observation or
// the reward. The horizon is finite: an episode terminates after four steps.
template <class F>
struct BreakingTask {
  struct State {
    F x, lifetime;  // lifetime is drawn once, in create()
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
      visit("lifetime", lifetime);
    }
  };
  struct Params {};

  static constexpr char name[] = "Breaking";
  static constexpr int obs_dim = 1, critic_obs_dim = 1, step_limit = 4;
  static constexpr bool finite_horizon = true;
  static constexpr double dt = 1;
  static constexpr DiscreteAction<5> action{};
  static constexpr char preset[] = "num_envs = 64\n";

  DRL_HD static void create(State& s, Draws<F>& draws, const Params&) { s.lifetime = draws.uniform(1, 2); }
  DRL_HD static void reset(State& s, Draws<F>&, const Params&) { s.x = F(0); }
  DRL_HD static Step<F> step(State& s, const F* action, const Params&) {
    const F zero = s.x - s.x;
    s.x = s.x + F(1);
    s.lifetime = math::select(action[0] == F(1), zero / zero, s.lifetime);
    s.x = math::select(action[0] == F(2), F(1e30), s.x);
    s.x = math::select(action[0] == F(3), F(-1), s.x);
    return {.reward = math::select(action[0] == F(4), F(1) / zero, F(1))};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.x * s.x;  // infinite for 1e30
  }
  template <class Out>
  DRL_HD static void observe_critic(const State& s, Out obs) {
    obs[0] = math::sqrt(s.x);  // NaN for -1
  }
};

}  // namespace drl

DRL_TASK(drl::BreakingTask)
