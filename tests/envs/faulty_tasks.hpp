// Tasks that violate their contract, each in one way, and one (Cancels) that only loses precision.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct FaultyTask {
  struct State {
    F x;
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
    }
  };
  struct Params {};
  static constexpr int obs_dim = 1, step_limit = 20;
  static constexpr double dt = 1;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr char preset[] = "";

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) { s.x = draws.uniform(-1, 1); }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.x;
  }
};

// All lanes iterate until the last one is done, so that a lane depends on its neighbours.
template <class F>
struct LanesMeet : FaultyTask<F> {
  using typename FaultyTask<F>::State;
  using typename FaultyTask<F>::Params;
  static constexpr char name[] = "LanesMeet";
  DRL_HD static Step<F> step(State& s, const F* action, const Params&) {
    s.x = s.x + action[0];
    while (any(math::abs(s.x) > F(0.5))) s.x = s.x * F(0.5);
    return {};
  }
};

template <class F>
struct GivesNan : FaultyTask<F> {
  using typename FaultyTask<F>::State;
  using typename FaultyTask<F>::Params;
  static constexpr char name[] = "GivesNan";
  DRL_HD static Step<F> step(State& s, const F* action, const Params&) {
    s.x = math::sqrt(action[0]);
    return {};
  }
};

template <class F>
struct WrongTerms : FaultyTask<F> {
  using typename FaultyTask<F>::State;
  using typename FaultyTask<F>::Params;
  static constexpr char name[] = "WrongTerms";
  static constexpr const char* reward_terms[] = {"one", "two"};
  DRL_HD static Step<F, 2> step(State& s, const F* action, const Params&) {
    s.x = action[0];
    Step<F, 2> result{.reward = F(1)};
    result.terms[0] = F(1), result.terms[1] = F(1);
    return result;
  }
};

// The reward is a small difference between large numbers. In float it is a multiple of 1/16.
template <class F>
struct Cancels : FaultyTask<F> {
  using typename FaultyTask<F>::State;
  using typename FaultyTask<F>::Params;
  static constexpr char name[] = "Cancels";
  DRL_HD static Step<F> step(State& s, const F* action, const Params&) {
    s.x = action[0];
    return {.reward = (F(1e6f) + s.x) - F(1e6f)};
  }
};

}  // namespace drl

DRL_TASK(drl::LanesMeet)
DRL_TASK(drl::GivesNan)
DRL_TASK(drl::WrongTerms)
DRL_TASK(drl::Cancels)
