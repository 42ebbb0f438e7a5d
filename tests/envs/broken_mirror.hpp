// A task whose table is no mirror: three numbers change places in a circle.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct BrokenMirror {
  struct State {
    F x[4];
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
    }
  };
  struct Params {};

  static constexpr char name[] = "BrokenMirror";
  static constexpr char preset[] = "";
  static constexpr int obs_dim = 4, step_limit = 20;
  static constexpr double dt = 1;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr MirrorTable<4> mirrored_obs{{{0}, {2}, {3}, {1}}, 4};
  static constexpr auto mirrored_action = MirrorTable<1>().add("-");

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    for (F& x : s.x) x = draws.uniform(-1, 1);
  }
  DRL_HD static Step<F> step(State& s, const F* action, const Params&) {
    s.x[0] = action[0];
    return {};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    for (int k = 0; k < 4; ++k) obs[k] = s.x[k];
  }
};

}  // namespace drl

DRL_TASK(drl::BrokenMirror)
