#pragma once

#include "drl/math.hpp"
#include "drl/task.hpp"

namespace drl {

// A mass of 1 kg on a line, pushed by a force of at most 1 N: bring it to rest at the origin.
template <class F>
struct DoubleIntegrator {
  struct State {
    F x, v;  // m, m/s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
      visit("v", v);
    }
  };
  struct Params {
    Scalar<F> dt = Scalar<F>(0.05), x_limit = 4;
  };

  static constexpr char name[] = "DoubleIntegrator";
  static constexpr int obs_dim = 2, step_limit = 200;
  static constexpr double dt = 0.05;
  static constexpr ContinuousAction<1> action{-1, 1};  // N

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.x = draws.uniform(-2, 2);
    s.v = draws.uniform(F(-0.5), F(0.5));
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    s.v = s.v + p.dt * action[0];
    s.x = s.x + p.dt * s.v;
    const F cost = s.x * s.x + F(0.1) * (s.v * s.v) + F(0.01) * (action[0] * action[0]);
    return {.reward = -p.dt * cost, .terminated = math::abs(s.x) > p.x_limit};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.x;
    obs[1] = s.v;
  }

  static constexpr char preset[] = R"(
num_envs = 256
num_steps_per_env = 32
max_iterations = 60
[ppo]
entropy_coef = 0.0
[policy]
init_std = 0.5
)";
};

}  // namespace drl

DRL_TASK(drl::DoubleIntegrator)
