#pragma once

#include "drl/task.hpp"

namespace drl {

// The curriculum sets the length of episodes. It adds a step whenever the mean length reaches the current length.
template <class F>
struct LadderTask {
  struct State {
    F steps, limit;
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("steps", steps);
      visit("limit", limit);
    }
  };
  struct Params {
    Scalar<F> first = 2;
    struct Curriculum {
      Scalar<F> length = 3, bonus = 0;
      template <class V>
      void describe(V& visit) {
        visit("length", length);
        visit("bonus", bonus);
      }
      void update(const TrainingStats& stats) {
        if (stats.episodes > 0 && stats.mean_length >= static_cast<double>(length)) length = length + 1;
        bonus = static_cast<Scalar<F>>(stats.iteration + 1);
      }
    } curriculum;
    template <class V>
    void describe(V& v) {
      v("first", first, "reward of an episode's first step", any_number());
    }
  };

  static constexpr char name[] = "Ladder";
  static constexpr int obs_dim = 1, step_limit = 0;
  static constexpr double dt = 1;
  static constexpr DiscreteAction<2> action{};
  static constexpr char preset[] = "num_envs = 64\n";
  static constexpr GateBound gate[] = {{"return", 5.5, 6.5}};  // 4 + 1 + 1, without the curriculum
  static constexpr char gate_options[] = "first = 4\n";

  DRL_HD static void reset(State& s, Draws<F>&, const Params& p) {
    s.steps = F(0);
    s.limit = F(p.curriculum.length);
  }
  DRL_HD static Step<F> step(State& s, const F*, const Params& p) {
    const F worth = math::select(s.steps == F(0), F(p.first), F(1));
    s.steps = s.steps + F(1);
    return {.reward = worth + F(p.curriculum.bonus), .terminated = s.steps >= s.limit};
  }
  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.steps / s.limit;
  }
};

}  // namespace drl

DRL_TASK(drl::LadderTask)
