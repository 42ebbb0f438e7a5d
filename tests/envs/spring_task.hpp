#pragma once

#include "drl/task.hpp"

namespace drl {

// A mass on a hardening spring that is too stiff for explicit steps. Each lane solves the equation of implicit Euler by
// Newton's method, with as many iterations as it needs. The mass is drawn once per environment; the critic observes it.
template <class F>
struct SpringTask {
  using S = Scalar<F>;
  struct State {
    F x, v;         // m, m/s
    F mass;         // kg
    F past[2];      // the positions before the last two steps
    Int<F> rounds;  // iterations of Newton's method in this episode
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
      visit("v", v);
      visit("mass", mass);
      visit("past", past);
      visit("rounds", rounds);
    }
  };
  static constexpr const char* kWinds[] = {"none", "gusts"};
  struct Params {
    S dt = S(0.05), stiffness = 2000, hardening = S(5e4), damping = 1;  // s, N/m, N/m^3, N s/m
    S gust = S(0.5), noise = S(0.01), x_limit = S(0.45);
    int max_rounds = 50;
    int32_t wind = 1;
    FileName winds;  // this one and the following are not read
    Interval gust_range{.low = -1, .high = S(0.5), .is_given = 1};
    Numbers<3> wind_at;
    Schedule<2, 3> wind_plan;
    template <class V>
    void describe(V& v) {
      v("stiffness", stiffness, "stiffness of the spring", above(0), unit("N/m"));
      v("gust", gust, "standard deviation of the wind's force", at_least(0), unit("N"));
      v("wind", wind, "whether there is wind", named_values(kWinds));
      v("winds", winds, "file of winds");
      v("gust_range", gust_range, "range of gusts", between(-5, 5), unit("N"), only_with("wind", "gusts"));
      v("wind_at", wind_at, "place of the wind", any_number(), changes_env_state);
      v("wind_plan", wind_plan, "file of winds: lines of SECONDS X Y", between(-10, 10));
      v("max_rounds", max_rounds, "largest number of Newton iterations", between(1, 1000));
    }
  };

  static constexpr char name[] = "Spring";
  static constexpr int obs_dim = 3, critic_obs_dim = 2, step_limit = 40;
  static constexpr double dt = 0.05;
  static constexpr ContinuousAction<1> action{-50, 50};  // N
  static constexpr char preset[] = "num_envs = 64\n";

  DRL_HD static void create(State& s, Draws<F>& draws, const Params&) { s.mass = draws.uniform(F(0.1), F(10)); }
  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.x = draws.uniform(F(-0.4), F(0.4));
    s.v = draws.uniform(F(-5), F(5));
    s.past[0] = s.past[1] = s.x;
    s.rounds = Int<F>(0);
  }

  // Solves v' = v + dt/m (f - k x' - h x'^3 - d v'), x' = x + dt v' for v', starting from v.
  DRL_HD static Step<F> step(State& s, const F* action, Draws<F>& draws, const Params& p) {
    const F force = action[0] + F(p.wind) * (p.gust * draws.normal()), share = F(p.dt) / s.mass;
    F v = s.v;
    Int<F> round = Int<F>(0);
    while_any(round < Int<F>(p.max_rounds), [&](Mask<F> on) DRL_LAMBDA {
      const F x = s.x + p.dt * v;
      const F rest = v - s.v - share * (force - p.stiffness * x - p.hardening * (x * x * x) - p.damping * v);
      const F slope = F(1) + share * (p.dt * (p.stiffness + 3 * p.hardening * (x * x)) + p.damping);
      const F change = rest / slope;
      v = math::select(on, v - change, v);
      round = math::select(on, round + 1, round);
      return (math::abs(change) > F(1e-5) * (F(1) + math::abs(v))) & (round < Int<F>(p.max_rounds));
    });
    s.past[1] = s.past[0];
    s.past[0] = s.x;
    s.x = s.x + p.dt * v;
    s.v = v;
    s.rounds = s.rounds + round;
    return {.reward = -(s.x * s.x), .terminated = math::abs(s.x) > p.x_limit};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Draws<F>& draws, const Params& p, Out obs) {
    obs[0] = s.x + p.noise * draws.normal();
    obs[1] = s.v;
    obs[2] = s.past[1];
  }
  template <class Out>
  DRL_HD static void observe_critic(const State& s, Out obs) {
    obs[0] = s.x;
    obs[1] = s.mass;
  }
};

}  // namespace drl

DRL_TASK(drl::SpringTask)
