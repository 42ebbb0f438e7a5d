#pragma once

#include "drl/task.hpp"

namespace drl {

// A point on a plane follows a commanded velocity, which changes every 10 steps, and is pushed at random times. It uses
// nearly everything that a task can define: weighted terms, metrics, ends, history, noise on the actor's observation
// only, and actions that are clipped, scaled and shifted in each dimension.
template <class F>
struct RobotTask {
  using S = Scalar<F>;
  struct State {
    F p[2], v[2];  // m, m/s
    F command[2];  // m/s
    Int<F> steps;  // since the last command
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("p", p);
      visit("v", v);
      visit("command", command);
      visit("steps", steps);
    }
  };
  struct Params {
    S push = S(0.5), push_share = S(0.05), noise = S(0.1);
    template <class V>
    void describe(V& v) {
      v("push", push, "largest change of velocity in a push", at_least(0), unit("m/s"));
      v("noise", noise, "standard deviation of the actor's noise", at_least(0));
    }
  };

  static constexpr char name[] = "Robot";
  static constexpr int obs_dim = 4, critic_obs_dim = 6, step_limit = 25, history = 3;
  static constexpr double dt = 0.1;
  static constexpr ActionPerDimension<2> action{{{.low = -1, .high = 2, .scale = 0.5f, .offset = 0.25f}, {.scale = 2}}};
  static constexpr RewardTerm reward_terms[] = {{"tracking", 2}, {"effort", -0.5}};
  static constexpr Quantity observations[] = {{"velocity", "m/s", 2}, {"command", "m/s", 2}};
  static constexpr const char* metrics[] = {"speed", "pushed"};
  static constexpr EndCause ends[] = {{"too_fast"}, {"left", EndsAs::time_out}};
  static constexpr char preset[] = "num_envs = 64\n";

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    for (int k = 0; k < 2; ++k) {
      s.p[k] = draws.uniform(-1, 1), s.v[k] = F(0);
      s.command[k] = draws.uniform(-1, 1);
    }
    s.steps = Int<F>(0);
  }

  DRL_HD static Step<F, 2, 2, 2> step(State& s, const F* action, Draws<F>& draws, const Params& p) {
    const Mask<F> anew = s.steps >= Int<F>(10), pushed = draws.uniform(0, 1) < F(p.push_share);
    s.steps = math::select(anew, Int<F>(1), s.steps + Int<F>(1));
    F error = F(0), effort = F(0), speed = F(0);
    for (int k = 0; k < 2; ++k) {
      s.command[k] = math::select(anew, draws.uniform(-1, 1), s.command[k]);
      const F push = math::select(pushed, draws.uniform(-F(p.push), F(p.push)), F(0));
      s.v[k] = s.v[k] + F(dt) * action[k] + push;
      s.p[k] = s.p[k] + F(dt) * s.v[k];
      error += math::abs(s.v[k] - s.command[k]);
      effort += action[k] * action[k];
      speed += s.v[k] * s.v[k];
    }
    Step<F, 2, 2, 2> result;
    result.terms[0] = math::exp(-error);
    result.terms[1] = effort;
    result.metrics[0] = math::sqrt(speed);
    result.metrics[1] = math::select(pushed, F(1), F(0));
    result.ends[0] = speed > F(4);
    result.ends[1] = math::max(math::abs(s.p[0]), math::abs(s.p[1])) > F(1.5);
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Draws<F>& draws, const Params& p, Out obs) {
    for (int k = 0; k < 2; ++k) {
      obs[k] = s.v[k] + p.noise * draws.normal();
      obs[2 + k] = s.command[k];
    }
  }
  template <class Out>
  DRL_HD static void observe_critic(const State& s, Out obs) {
    for (int k = 0; k < 2; ++k) obs[k] = s.p[k], obs[2 + k] = s.v[k], obs[4 + k] = s.command[k];
  }
};

}  // namespace drl

DRL_TASK(drl::RobotTask)
