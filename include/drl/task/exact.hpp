// The loops of a task in double, as a reference for tests.
#pragma once

#include "drl/task/loops.hpp"

namespace drl {

template <template <class> class Task>
struct ExactLoops {
  static int32_t reset(const LoopCall* call, char*, int64_t);
  static int32_t step(const LoopCall* call, char*, int64_t);
  // Runs a reset and a step of a robot's task. Returns a feature that the task uses but compiled physics does not
  // provide, or null if there is none.
  static const char* lacking();
};

template <template <class> class Task>
int32_t ExactLoops<Task>::reset([[maybe_unused]] const LoopCall* call, char*, int64_t) {
  if constexpr (!kNotCompiled<Task>) {
    const auto all = reset_of<Task>(*call);
    for (int64_t i = call->begin; i < call->end; ++i) all.template one<double>(i);
  }
  return 0;
}

template <template <class> class Task>
int32_t ExactLoops<Task>::step([[maybe_unused]] const LoopCall* call, char*, int64_t) {
  if constexpr (!kNotCompiled<Task>) {
    const auto all = step_of<Task, true>(*call);
    for (int64_t i = call->begin; i < call->end; ++i) all.template lanes<double>(i);
  }
  return 0;
}

template <template <class> class Task>
const char* ExactLoops<Task>::lacking() {
  const char* lacking = nullptr;
  if constexpr (!kNotCompiled<Task>) {
    using Exact = Task<double>;
    typename Exact::State state{};
    const typename Exact::Params params{};
    double action[Exact::action.size] = {}, obs[max_obs_dim_of<Exact>()], critic[critic_obs_dim_of<Exact>() + 1];
    Draws<double> draws(0, 0, 0);
    const auto see = [&](const Scratch<Exact>& scratch) {
      task::observe<Exact, double>(state, scratch, draws, params, obs);
      if constexpr (critic_obs_dim_of<Exact>() > 0) task::observe_critic<Exact, double>(state, scratch, params, critic);
      if (scratch.robot.lacking()) lacking = scratch.robot.lacking();
    };
    Scratch<Exact> first;
    task::create<Exact, double>(state, first, draws, params);
    task::reset<Exact, double>(state, first, draws, params);
    see(first);
    Scratch<Exact> second;
    task::step<Exact, double>(state, second, action, draws, params);
    see(second);
  }
  return lacking;
}

}  // namespace drl
