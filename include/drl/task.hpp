// What a task is: one short header like cartpole_v1.hpp, written once for every executor. F is a pack of environments
// on a CPU, float on a GPU, and double where tests compare with an exact reference (drl/lanes.hpp). So a task's
// functions are branch-free (math::select, not if), use math:: and not the standard library, and write constants as
// F(4.0 / 3.0).
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <vector>

#if defined(__FAST_MATH__)
#error "a task compiled with -ffast-math gives other numbers on each machine: compile it with drl_add_task_library"
#endif

#include "drl/hd.hpp"
#include "drl/lanes.hpp"
#include "drl/math.hpp"
#include "drl/philox.hpp"
#include "drl/range.hpp"
#include "drl/task_spec.hpp"
#include "drl/training_stats.hpp"

namespace drl {

// A part of the reward: weight times what step says of it. The weight is an option, --env.reward.NAME.
struct RewardTerm {
  const char* name;
  double weight;
};
// Why an episode may end, beside the step limit.
enum class EndsAs { terminated, time_out };
struct EndCause {
  const char* name;
  EndsAs as = EndsAs::terminated;
};

// What one step gives beside the new state. With weighted terms (RewardTerm) leave the reward alone: they make it up.
// Where a task only names its terms, they say what the reward is the sum of. Likewise terminated and truncated follow
// from the causes where a task names any.
template <class F, int Terms = 0, int Metrics = 0, int Ends = 0>
struct Step {
  F reward = F(0);
  Mask<F> terminated = F(0) != F(0);
  Mask<F> truncated = F(0) != F(0);  // beside the step limit; only of a task that says `truncates = true`
  F terms[Terms > 0 ? Terms : 1] = {};
  F metrics[Metrics > 0 ? Metrics : 1] = {};
  Mask<F> ends[Ends > 0 ? Ends : 1] = {};
};

// The action a step takes: the number of one of Count actions; such a number for each of several (Gymnasium's
// MultiDiscrete); or Size numbers within the bounds.
template <int Count>
struct DiscreteAction {
  static constexpr bool discrete = true;
  static constexpr int size = 1;
  static ActionSpace space() { return {true, Count, {}, {}}; }
};
template <int... Counts>
struct MultiDiscreteAction {
  static constexpr bool discrete = true;
  static constexpr int size = sizeof...(Counts);
  static ActionSpace space() { return {true, (Counts + ...), {}, {}, {}, {}, {Counts...}}; }
};
template <int Size>
struct ContinuousAction {
  static constexpr bool discrete = false;
  static constexpr int size = Size;
  float low, high;  // the same for every dimension
  ActionSpace space() const { return {false, Size, std::vector<float>(Size, low), std::vector<float>(Size, high)}; }
};
// Of a dimension of an action: the policy's number is cut to [low, high], without bounds if none are said, and the
// step gets offset + scale * number.
struct ActionRange {
  float low = -__builtin_huge_valf(), high = __builtin_huge_valf(), scale = 1, offset = 0;
};
template <int Size>
struct ActionPerDimension {
  static constexpr bool discrete = false;
  static constexpr int size = Size;
  ActionRange each[Size];
  ActionSpace space() const {
    ActionSpace space{false, Size, {}, {}};
    for (const ActionRange& range : each) {
      space.low.push_back(range.low), space.high.push_back(range.high);
      space.scale.push_back(range.scale), space.offset.push_back(range.offset);
    }
    return space;
  }
};

// Random numbers of a task: a function of (seed, global index of the environment, step of its lifetime, what they are
// for), so that create, reset, step and observe each draw from a stream of their own. The lanes are environments env,
// env + 1, ... A draw gives every lane its next number: draw outside of while_any, or a lane's numbers would depend on
// its neighbours.
template <class F>
class Draws {
 public:
  DRL_HD Draws(uint64_t seed, uint64_t env, uint64_t step, Purpose purpose = Purpose::reset)
      : seed_(seed), env_(env), step_(step), purpose_(purpose) {}
  // The same stream, from its beginning, as other numbers.
  template <class G>
  DRL_HD explicit Draws(const Draws<G>& other) : Draws(other.seed_, other.env_, other.step_, other.purpose_) {}

  // Uniform in [low, high).
  DRL_HD F uniform(F low, F high) { return low + (high - low) * F(uniform01(next())); }
  // Normal, with mean 0 and deviation 1 (Box and Muller): |x| < 5.8.
  DRL_HD F normal() {
    const F u = F(1) - F(uniform01(next())), angle = F(6.283185307179586) * F(uniform01(next()));
    return math::sqrt(F(-2) * math::log(u)) * math::cos(angle);
  }

 private:
  template <class G>
  friend class Draws;
  DRL_HD Bits<F> next() {
    if (used_ % 4 == 0) words_ = random_bits<Bits<F>>(seed_, purpose_, env_, step_, static_cast<uint32_t>(used_ / 4));
    return words_[used_++ % 4];
  }

  uint64_t seed_, env_, step_;
  Purpose purpose_;
  int used_ = 0;
  Words4Of<Bits<F>> words_ = {};
};

// Calls visit(number) for each of a member's numbers: itself, or those of an array.
template <class Member, class Visit>
DRL_HD void each_number(Member& member, Visit& visit) {
  if constexpr (std::is_array_v<Member>) {
    for (auto& part : member) each_number(part, visit);
  } else {
    visit(member);
  }
}

// What a task may leave out.
template <class Task>
constexpr int reward_term_count() {
  if constexpr (requires { Task::reward_terms[0]; }) return static_cast<int>(std::size(Task::reward_terms));
  return 0;
}
// Whether options decide how many numbers are observed.
template <class Task>
inline constexpr bool kObsDimVaries = requires(const typename Task::Params& params) {
  Task::obs_dim_with(params);
};
template <class Task>
constexpr int max_obs_dim_of() {
  if constexpr (kObsDimVaries<Task>) return Task::max_obs_dim;
  if constexpr (!kObsDimVaries<Task>) return Task::obs_dim;
}
template <class Task>
constexpr int critic_obs_dim_of() {
  if constexpr (requires { Task::critic_obs_dim; }) return Task::critic_obs_dim;
  return 0;
}
// Whether the terms have weights, and whether these are per second.
template <class Task>
inline constexpr bool kHasWeights = requires {
  Task::reward_terms[0].weight;
};
template <class Task>
constexpr bool scales_rewards_by_dt() {
  if constexpr (requires { Task::scale_rewards_by_dt; }) return Task::scale_rewards_by_dt;
  return false;
}
template <class Task>
constexpr int metric_count() {
  if constexpr (requires { Task::metrics[0]; }) return static_cast<int>(std::size(Task::metrics));
  return 0;
}
template <class Task>
constexpr int end_count() {
  if constexpr (requires { Task::ends[0]; }) return static_cast<int>(std::size(Task::ends));
  return 0;
}
// Bit k: cause k is a time-out.
template <class Task>
constexpr uint32_t time_outs() {
  uint32_t bits = 0;
  if constexpr (end_count<Task>() > 0)
    for (int k = 0; k < end_count<Task>(); ++k) bits |= uint32_t{Task::ends[k].as == EndsAs::time_out} << k;
  return bits;
}
template <class Task>
constexpr bool truncates() {
  if constexpr (requires { Task::truncates; }) return Task::truncates;
  return time_outs<Task>() != 0;
}
template <class Task>
constexpr bool finite_horizon() {
  if constexpr (requires { Task::finite_horizon; }) return Task::finite_horizon;
  return false;
}
template <class Task>
constexpr int history_of() {
  if constexpr (requires { Task::history; }) return Task::history;
  return 1;
}
struct NoVisitor {
  template <class... Any>
  void operator()(Any&&...) {}
};
// Whether its Params are options.
template <class Task>
inline constexpr bool kHasOptions = requires(typename Task::Params& params, NoVisitor& visitor) {
  params.describe(visitor);
};

// Whether its Params have a Curriculum.
template <class Task>
inline constexpr bool kHasCurriculum = requires(typename Task::Params& params, const TrainingStats& stats) {
  params.curriculum.update(stats);
};

// Of a task without a Scratch.
struct NoScratch {};
template <class Task>
struct ScratchOf {
  using Type = NoScratch;
};
template <class Task>
requires requires { typename Task::Scratch; }
struct ScratchOf<Task> {
  using Type = typename Task::Scratch;
};
template <class Task>
using Scratch = typename ScratchOf<Task>::Type;
template <class Task>
inline constexpr bool kHasScratch = !std::is_same_v<Scratch<Task>, NoScratch>;

// A task's functions with all arguments, of which it may leave some out.
namespace task {

template <class Task, class F>
DRL_HD void create(typename Task::State& state, [[maybe_unused]] Scratch<Task>& scratch, Draws<F>& draws,
                   const typename Task::Params& params) {
  if constexpr (kHasScratch<Task>) {
    Task::create(state, scratch, draws, params);
  } else if constexpr (requires { &Task::create; }) {
    Task::create(state, draws, params);
  }
}
template <class Task, class F>
DRL_HD void reset(typename Task::State& state, [[maybe_unused]] Scratch<Task>& scratch, Draws<F>& draws,
                  const typename Task::Params& params) {
  if constexpr (kHasScratch<Task>) {
    Task::reset(state, scratch, draws, params);
  } else {
    Task::reset(state, draws, params);
  }
}
template <class Task, class F>
DRL_HD auto step(typename Task::State& state, [[maybe_unused]] Scratch<Task>& scratch, const F* action, Draws<F>& draws,
                 const typename Task::Params& params) {
  if constexpr (kHasScratch<Task>) {
    return Task::step(state, scratch, action, draws, params);
  } else if constexpr (requires { Task::step(state, action, draws, params); }) {
    return Task::step(state, action, draws, params);
  } else {
    return Task::step(state, action, params);
  }
}
template <class Task, class F>
DRL_HD void observe(const typename Task::State& state, [[maybe_unused]] const Scratch<Task>& scratch, Draws<F>& draws,
                    const typename Task::Params& params, F* obs) {
  if constexpr (kHasScratch<Task>) {
    Task::observe(state, scratch, draws, params, obs);
  } else if constexpr (requires { Task::observe(state, draws, params, obs); }) {
    Task::observe(state, draws, params, obs);
  } else if constexpr (requires { Task::observe(state, params, obs); }) {
    Task::observe(state, params, obs);
  } else {
    Task::observe(state, obs);
  }
}
template <class Task, class F>
DRL_HD void observe_critic(const typename Task::State& state, [[maybe_unused]] const Scratch<Task>& scratch,
                           const typename Task::Params& params, F* obs) {
  if constexpr (kHasScratch<Task>) {
    Task::observe_critic(state, scratch, params, obs);
  } else if constexpr (requires { Task::observe_critic(state, params, obs); }) {
    Task::observe_critic(state, params, obs);
  } else {
    Task::observe_critic(state, obs);
  }
}

}  // namespace task

// Task<F> as the executors and the learner need it:
//
//   struct State { F x; F q[15]; Int<F> count; template <class V> void describe(V& visit) { visit("x", x); ... } };
//     numbers and arrays of them. describe names every member, in their order: that is its name in checkpoints
//   struct Params { Scalar<F> mass = 1; ... };
//     numbers. With `template <class V> void describe(V& v)` that calls v("mass", mass, "help", above(0), unit("kg")),
//     they are options --env.mass
//   static void create(State&, Draws<F>&, const Params&);    once in an environment's lifetime; may be left out
//   static void reset(State&, Draws<F>&, const Params&);     the start of an episode; what it leaves alone stays
//   static Step<F> step(State&, const F* action, [Draws<F>&,] const Params&);
//   static void observe(const State&, [[Draws<F>&,] const Params&,] Out obs);
//   static void observe_critic(const State&, [const Params&,] Out obs);    with critic_obs_dim
//   name, preset, obs_dim, step_limit (0: none), dt, action
//   and, where wanted:
//   static constexpr RewardTerm reward_terms[] = {{"alive", 1}, {"effort", -0.1}};   or, without weights, names
//   static constexpr bool scale_rewards_by_dt = true;    the weights are per second, as Isaac Lab's and mjlab's
//   static constexpr const char* metrics[] = {"speed"};  means over an episode's steps
//   static constexpr EndCause ends[] = {{"fell"}, {"left", EndsAs::time_out}};
//   static constexpr bool truncates = true;              step may say truncated itself
//   static constexpr bool finite_horizon = true;         nothing is expected beyond a time-out: it terminates
//   static constexpr int history = 3;   the actor sees the last 3 observations, oldest first; the first one thrice
//   critic_obs_dim
//   static constexpr int max_obs_dim = 18;   options add to what is observed or take from it: at most so many numbers,
//   static constexpr int obs_dim_with(const Params&);   which are so many; obs_dim is that of the defaults
//   struct Scratch { ... };   what the observations of a step or reset need of it and the next step does not: it lives
//     that long only, and nowhere but beside the processor. create, reset, step and both observe then take all their
//     arguments, and a Scratch& (const of an observation) behind State
//   template <class Canvas> static void draw(const State&, const Params&, Canvas&);   for films (drl/canvas.hpp)
//   a Params::Curriculum, numbers that change after each iteration, on the host and on all ranks alike, and that
//   checkpoints keep:
//     struct Curriculum {
//       Scalar<F> level = 0;
//       template <class V> void describe(V& visit) { visit("level", level); }
//       void update(const TrainingStats&);
//     } curriculum;
//
// An environment of which a float of the state, an observation or the reward is not finite is lost: its episode ends
// there as terminated, with a reward of 0, is not counted, and create and reset begin the next one.
//
// All are DRL_HD. A lane's bits must depend on nothing but its own state, action and draws.
template <class Task, class F>
concept TaskOf = requires(typename Task::State& state, Scratch<Task>& scratch, const typename Task::Params& params,
                          Draws<F>& draws, const F* action, F* obs, NoVisitor& visitor) {
  { Task::name } -> std::convertible_to<const char*>;
  { Task::preset } -> std::convertible_to<const char*>;
  { Task::obs_dim } -> std::convertible_to<int>;
  { Task::step_limit } -> std::convertible_to<int>;
  { Task::dt } -> std::convertible_to<double>;
  { Task::action.space() } -> std::same_as<ActionSpace>;
  state.describe(visitor);
  task::reset<Task, F>(state, scratch, draws, params);
  {
    task::step<Task, F>(state, scratch, action, draws, params)
    } -> std::same_as<Step<F, reward_term_count<Task>(), metric_count<Task>(), end_count<Task>()>>;
  task::observe<Task, F>(state, scratch, draws, params, obs);
};

}  // namespace drl

// Ends a task's header, behind its namespace or in namespace drl: DRL_TASK(MyTask). What it means is said by the unit
// that includes the header: task_host_unit.hpp, task_gpu_unit.hpp, task_table_unit.hpp; elsewhere it means nothing.
#if !defined(DRL_TASK)
#define DRL_TASK(...)
#endif
