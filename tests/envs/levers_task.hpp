#pragma once

#include "drl/task.hpp"

namespace drl {

// Two levers with three and two positions. The observation is the wanted position of each lever; each correct lever
// gives a reward of 1.
template <class F>
struct LeversTask {
  struct State {
    F wanted[2];
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("wanted", wanted);
    }
  };
  struct Params {};

  static constexpr char name[] = "Levers";
  static constexpr int obs_dim = 2, step_limit = 10;
  static constexpr double dt = 1;
  static constexpr MultiDiscreteAction<3, 2> action{};
  static constexpr char preset[] = "num_envs = 64\n";

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) { draw(s, draws); }
  DRL_HD static Step<F> step(State& s, const F* action, Draws<F>& draws, const Params&) {
    F right = F(0);
    for (int k = 0; k < 2; ++k) right += math::select(action[k] == s.wanted[k], F(1), F(0));
    draw(s, draws);
    return {.reward = right};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    for (int k = 0; k < 2; ++k) obs[k] = s.wanted[k];
  }

 private:
  DRL_HD static void draw(State& s, Draws<F>& draws) {
    s.wanted[0] = math::floor(draws.uniform(0, 3));
    s.wanted[1] = math::floor(draws.uniform(0, 2));
  }
};

}  // namespace drl

DRL_TASK(drl::LeversTask)
