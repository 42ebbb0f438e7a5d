#pragma once

#include "drl/task.hpp"

namespace drl {

// Counts its steps, and truncates each episode at the third step. It has no step limit. An option adds the number of
// steps left to the observation.
template <class F>
struct CuttingTask {
  struct State {
    F steps;
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("steps", steps);
    }
  };
  struct Params {
    bool sees_left = false;
    template <class V>
    void describe(V& v) {
      v("sees_left", sees_left, "observe the number of steps left");
    }
  };

  static constexpr char name[] = "Cutting";
  static constexpr int obs_dim = 1, max_obs_dim = 2, step_limit = 0;
  static constexpr bool truncates = true;
  static constexpr double dt = 1;
  static constexpr DiscreteAction<2> action{};
  static constexpr char preset[] = "";

  DRL_HD static void reset(State& s, Draws<F>&, const Params&) { s.steps = F(0); }
  DRL_HD static Step<F> step(State& s, const F*, const Params&) {
    s.steps = s.steps + F(1);
    return {.reward = F(1), .truncated = s.steps >= F(3)};
  }
  DRL_HD static constexpr int obs_dim_with(const Params& p) { return p.sees_left ? 2 : 1; }
  template <class Out>
  DRL_HD static void observe(const State& s, const Params& p, Out obs) {
    obs[0] = s.steps;
    if (p.sees_left) obs[1] = F(3) - s.steps;
  }
};

}  // namespace drl

DRL_TASK(drl::CuttingTask)
