// What a task is: one short header like cartpole_v1.hpp, written once for every executor. F is a pack of environments
// on a CPU, float on a GPU, and double where tests compare with an exact reference (drl/lanes.hpp). So a task's
// functions are branch-free (math::select, not if), use math:: and not the standard library, and write constants as
// F(4.0 / 3.0).
#pragma once

#include <concepts>
#include <iterator>
#include <vector>

#include "drl/hd.hpp"
#include "drl/lanes.hpp"
#include "drl/math.hpp"
#include "drl/philox.hpp"
#include "drl/task_spec.hpp"

namespace drl {

// What one step gives beside the new state. The reward is the sum of the terms where a task names any.
template <class F, int Terms = 0>
struct Step {
  F reward = F(0);
  Mask<F> terminated = F(0) != F(0);
  Mask<F> truncated = F(0) != F(0);  // beside the step limit; only of a task that says `truncates = true`
  F terms[Terms > 0 ? Terms : 1] = {};
};

// A member of a task's State, and its name in checkpoints.
template <class State, class F>
struct Field {
  const char* name;
  F State::*member;
};

// The action a step takes: the number of one of Count actions, or Size numbers within the bounds.
template <int Count>
struct DiscreteAction {
  static constexpr bool discrete = true;
  static constexpr int size = 1;
  static ActionSpace space() { return {true, Count, {}, {}}; }
};
template <int Size>
struct ContinuousAction {
  static constexpr bool discrete = false;
  static constexpr int size = Size;
  float low, high;  // the same for every dimension
  ActionSpace space() const { return {false, Size, std::vector<float>(Size, low), std::vector<float>(Size, high)}; }
};

// The random numbers of a reset: a function of (seed, global index of the environment, step of its lifetime). The lanes
// are environments env, env + 1, ...
template <class F>
class Draws {
 public:
  DRL_HD Draws(uint64_t seed, uint64_t env, uint64_t step) : seed_(seed), env_(env), step_(step) {}

  // Uniform in [low, high).
  DRL_HD F uniform(F low, F high) { return low + (high - low) * F(uniform01(next())); }

 private:
  DRL_HD Bits<F> next() {
    if (used_ % 4 == 0)
      words_ = random_bits<Bits<F>>(seed_, Purpose::reset, env_, step_, static_cast<uint32_t>(used_ / 4));
    return words_[used_++ % 4];
  }

  uint64_t seed_, env_, step_;
  int used_ = 0;
  Words4Of<Bits<F>> words_ = {};
};

template <class Task>
constexpr int reward_term_count() {
  if constexpr (requires { Task::reward_terms[0]; }) return static_cast<int>(std::size(Task::reward_terms));
  return 0;
}

// Task<F> as the executors and the learner need it. `reward_terms` (an array of names) may be left out.
template <class Task, class F>
concept TaskOf = requires(typename Task::State& state, const typename Task::Params& params, Draws<F>& draws,
                          const F* action, F* obs) {
  { Task::name } -> std::convertible_to<const char*>;
  { Task::preset } -> std::convertible_to<const char*>;
  { Task::obs_dim } -> std::convertible_to<int>;
  { Task::step_limit } -> std::convertible_to<int>;
  { Task::dt } -> std::convertible_to<double>;
  { Task::action.space() } -> std::same_as<ActionSpace>;
  { Task::fields[0] } -> std::convertible_to<Field<typename Task::State, F>>;
  requires std::size(Task::fields)
  *sizeof(F) == sizeof(typename Task::State);  // every member is listed
  Task::reset(state, draws, params);
  { Task::step(state, action, params) } -> std::same_as<Step<F, reward_term_count<Task>()>>;
  Task::observe(state, obs);
};

// A task's header as data.
template <class Task>
TaskSpec make_spec() {
  TaskSpec spec{Task::name, Task::obs_dim, 0, Task::action.space(), Task::step_limit, Task::dt, {}};
  if constexpr (reward_term_count<Task>() > 0) {
    spec.reward_terms.assign(std::begin(Task::reward_terms), std::end(Task::reward_terms));
  }
  if constexpr (requires { Task::truncates; }) spec.truncates = Task::truncates;
  return spec;
}

}  // namespace drl
