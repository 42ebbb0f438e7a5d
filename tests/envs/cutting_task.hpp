#pragma once

#include "drl/task.hpp"

namespace drl {

// Counts its steps, and cuts each episode in the third. It has no step limit.
template <class F>
struct CuttingTask {
  struct State {
    F steps;
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("steps", steps);
    }
  };
  struct Params {};

  static constexpr char name[] = "Cutting";
  static constexpr int obs_dim = 1, step_limit = 0;
  static constexpr bool truncates = true;
  static constexpr double dt = 1;
  static constexpr DiscreteAction<2> action{};
  static constexpr char preset[] = "";

  DRL_HD static void reset(State& s, Draws<F>&, const Params&) { s.steps = F(0); }
  DRL_HD static Step<F> step(State& s, const F*, const Params&) {
    s.steps = s.steps + F(1);
    return {.reward = F(1), .truncated = s.steps >= F(3)};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.steps;
  }
};

}  // namespace drl

DRL_TASK(drl::CuttingTask)
