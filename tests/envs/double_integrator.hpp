#pragma once
#include "drl/math.hpp"
#include "drl/task.hpp"

// A mass of 1 kg on a line, pushed by a force of at most 1 N, should come to rest at the origin.
template <class F>
struct DoubleIntegrator {
  static constexpr char name[] = "DoubleIntegrator";
  static constexpr int obs_dim = 2, step_limit = 200;
  static constexpr double dt = 0.05;                        // seconds per step
  static constexpr drl::ContinuousAction<1> action{-1, 1};  // bounds of the force, in N
  static constexpr char preset[] = "num_envs = 256\nnum_steps_per_env = 32\nmax_iterations = 60\n";
  struct Params {};  // parameters that become options
  struct State {
    F x, v;  // position in m, velocity in m/s
    template <class Visitor>
    DRL_HD void describe(Visitor& visit) {
      visit("x", x), visit("v", v);
    }
  };
  DRL_HD static void reset(State& s, drl::Draws<F>& draws, const Params&) {
    s.x = draws.uniform(-2, 2);
    s.v = draws.uniform(F(-0.5), F(0.5));
  }
  DRL_HD static drl::Step<F> step(State& s, const F* action, const Params&) {
    s.v = s.v + F(dt) * action[0];
    s.x = s.x + F(dt) * s.v;
    const F cost = s.x * s.x + F(0.1) * (s.v * s.v) + F(0.01) * (action[0] * action[0]);
    return {.reward = F(-dt) * cost, .terminated = drl::math::abs(s.x) > F(4)};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.x, obs[1] = s.v;
  }
};
DRL_TASK(DoubleIntegrator)
