// Defines what a task is: one short header, such as src/tasks/cartpole_v1.hpp, that is written once for all executors.
// The type F is a pack of environments on a CPU, float on a GPU, and double where tests compare with an exact reference
// (drl/lanes/lanes.hpp). A task's functions are therefore branch-free (math::select instead of if), call math:: instead
// of the standard library, and write constants as F(4.0 / 3.0). The full list of members precedes the concept TaskOf
// below.
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <vector>

#if defined(__FAST_MATH__)
#error "tasks cannot be compiled with -ffast-math (results would differ between machines): use drl_add_task_library"
#endif

#include "drl/lanes/hd.hpp"
#include "drl/lanes/lanes.hpp"
#include "drl/lanes/philox.hpp"
#include "drl/math.hpp"
#include "drl/task/mirror.hpp"
#include "drl/task/param_types.hpp"
#include "drl/task/range.hpp"
#include "drl/task/spec.hpp"
#include "drl/task/training_stats.hpp"

namespace drl {

// A term of the reward: the weight times the value that step() sets. The weight is an option, --env.reward.NAME.
struct RewardTerm {
  const char* name;
  double weight;
};
// A reason, besides the step limit, for which an episode may end.
enum class EndsAs { terminated, time_out };
struct EndCause {
  const char* name;
  EndsAs as = EndsAs::terminated;
};

// The result of one step, besides the new state.
//
// A task with weighted terms (RewardTerm) does not set the reward: drl adds up the weighted terms. A task whose terms
// have only names sets both the terms and the reward, which must be their sum. A task with `ends` sets those, and drl
// derives terminated and truncated from them.
template <class F, int Terms = 0, int Metrics = 0, int Ends = 0>
struct Step {
  F reward = F(0);
  Mask<F> terminated = F(0) != F(0);
  Mask<F> truncated = F(0) != F(0);  // requires `truncates = true`; drl applies the step limit itself
  F terms[Terms > 0 ? Terms : 1] = {};
  F metrics[Metrics > 0 ? Metrics : 1] = {};
  Mask<F> ends[Ends > 0 ? Ends : 1] = {};
};

// The action spaces. step() receives the index of one of Count actions (DiscreteAction), one index for each of several
// discrete actions (MultiDiscreteAction, as in Gymnasium), or Size numbers within bounds (ContinuousAction).
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
// One dimension of a continuous action. The policy's output is clipped to [low, high] (by default unbounded), and
// step() receives offset + scale * output.
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

// A task's random numbers. They are a function of (seed, global index of the environment, step of its lifetime,
// purpose), so that create, reset, step and observe draw from separate streams. The lanes are the environments env,
// env + 1, ... Each draw advances the stream of every lane: never draw inside while_any, because a lane's numbers would
// then depend on its neighbours.
template <class F>
class Draws {
 public:
  DRL_HD Draws(uint64_t seed, uint64_t env, uint64_t step, Purpose purpose = Purpose::reset)
      : seed_(seed), env_(env), step_(step), purpose_(purpose) {}
  // Converts the stream to another number type and starts it from its beginning.
  template <class G>
  DRL_HD explicit Draws(const Draws<G>& other) : Draws(other.seed_, other.env_, other.step_, other.purpose_) {}

  // Returns the stream of another purpose, from its beginning.
  DRL_HD Draws of(Purpose purpose) const { return {seed_, env_, step_, purpose}; }

  // Leaves out this many uniform numbers.
  DRL_HD void skip(int count) {
    used_ += count;
    if (used_ % 4 != 0) words_ = random_bits<Bits<F>>(seed_, purpose_, env_, step_, static_cast<uint32_t>(used_ / 4));
  }
  // Returns a number that is uniform in [low, high).
  DRL_HD F uniform(F low, F high) { return low + (high - low) * F(uniform01(next())); }
  // Returns a normal number with mean 0 and standard deviation 1 (Box and Muller); |x| < 5.8.
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

// Calls visit(number) for a member that is a number, or for each element if the member is an array.
template <class Member, class Visit>
DRL_HD void each_number(Member& member, Visit& visit) {
  if constexpr (std::is_array_v<Member>) {
    for (auto& part : member) each_number(part, visit);
  } else {
    visit(member);
  }
}

// The optional members of a task, with their defaults.
template <class Task>
constexpr int reward_term_count() {
  if constexpr (requires { Task::reward_terms[0]; }) return static_cast<int>(std::size(Task::reward_terms));
  return 0;
}
// True if the options determine the number of observations.
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
// True if the reward terms have weights.
template <class Task>
inline constexpr bool kHasWeights = requires {
  Task::reward_terms[0].weight;
};
// True if these weights are per second.
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
template <class Quantities>
constexpr int total_count(const Quantities& quantities) {
  int total = 0;
  for (const Quantity& quantity : quantities) total += quantity.count;
  return total;
}
template <class Task>
constexpr int end_count() {
  if constexpr (requires { Task::ends[0]; }) return static_cast<int>(std::size(Task::ends));
  return 0;
}
// Returns a bit mask in which bit k is set if end k is a time-out.
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
// True if the task says how it looks in a mirror.
template <class Task>
inline constexpr bool kHasMirror = requires {
  Task::mirrored_obs.numbers;
};
template <class Task>
constexpr int history_of() {
  if constexpr (requires { Task::history; }) return Task::history;
  return 1;
}
struct NoVisitor {
  template <class... Any>
  void operator()(Any&&...) {}
};
// True if the task's Params are options.
template <class Task>
inline constexpr bool kHasOptions = requires(typename Task::Params& params, NoVisitor& visitor) {
  params.describe(visitor);
};

// True if the task's Params have a Curriculum.
template <class Task>
inline constexpr bool kHasCurriculum = requires(typename Task::Params& params, const TrainingStats& stats) {
  params.curriculum.update(stats);
};

// The Scratch of tasks that define none.
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

// Calls a task's functions with the arguments that the task declares.
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
  const auto call = [&] DRL_LAMBDA {
    if constexpr (kHasScratch<Task>) {
      return Task::step(state, scratch, action, draws, params);
    } else if constexpr (requires { Task::step(state, action, draws, params); }) {
      return Task::step(state, action, draws, params);
    } else {
      return Task::step(state, action, params);
    }
  };
  using Result = Step<F, reward_term_count<Task>(), metric_count<Task>(), end_count<Task>()>;
  static_assert(std::is_same_v<decltype(call()), Result>,
                "step() must return drl::Step<F, TERMS, METRICS, ENDS>, with the lengths of the task's reward_terms, "
                "metrics and ends (0 for a list that it lacks)");
  return call();
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

// The members of a task, Task<F>. All functions are DRL_HD, except draw, obs_dim_with, update, and describe of Params
// and Curriculum. The results of a lane must depend only on its own state, action and draws, bit for bit.
//
// Required:
//
//   static constexpr char name[] = "MyTask";
//   static constexpr char preset[] = "num_envs = 64\n";  the default training options, in the syntax of config files
//   static constexpr int obs_dim = 4, step_limit = 500;  step_limit 0: no limit
//   static constexpr double dt = 0.02;                   seconds per step
//   static constexpr DiscreteAction<2> action{};         or another action space from above
//
//   struct State { F x; F q[15]; Int<F> count; template <class V> void describe(V& visit) { visit("x", x); ... } };
//     Holds numbers and arrays of numbers. describe visits every member, in the order of declaration; the names appear
//     in checkpoints.
//   struct Params { Scalar<F> mass = 1; ... };
//     Holds numbers. They become options (--env.mass) if Params defines `template <class V> void describe(V& v)`, which
//     calls v("mass", mass, "help", above(0), unit("kg")) for each. A parameter without effect unless another one has a
//     certain value says so by only_with("kind", "a|b") or not_with("kind", "c"); at_most_option("high") limits it.
//
//   static void reset(State&, Draws<F>&, const Params&);
//     Starts an episode. Members that it does not set keep their values.
//   static Step<F> step(State&, const F* action, [Draws<F>&,] const Params&);
//   static void observe(const State&, [[Draws<F>&,] const Params&,] Out obs);
//
// Optional:
//
//   static void create(State&, Draws<F>&, const Params&);   is called once in an environment's lifetime
//   static void observe_critic(const State&, [const Params&,] Out obs);
//   static constexpr int critic_obs_dim = 6;                required by observe_critic
//   static constexpr char description[] = "walks forwards";   a line for drl_train --list_tasks
//   static constexpr RewardTerm reward_terms[] = {{"alive", 1}, {"effort", -0.1}};   or names without weights
//   static constexpr bool scale_rewards_by_dt = true;       the weights are per second, as in Isaac Lab and mjlab
//   static constexpr const char* metrics[] = {"speed"};     reported as means over an episode's steps
//   static constexpr Quantity observations[] = {{"position", "m"}, {"joint_pos", "rad", 12}};   in order, of one frame
//   static constexpr Quantity actions[] = {{"torque", "N m", 12, 150}};   in units of 150 N m
//   static constexpr const char* commands[] = {"twist"};    names of the commands that the robot follows
//   static constexpr auto mirrored_obs = MirrorTable<4>().add("+-+-");   for --ppo.symmetry (drl/task/mirror.hpp)
//   static constexpr auto mirrored_action = MirrorTable<1>().add("-");   both tables of a frame's numbers, and of an
//   static constexpr auto mirrored_critic_obs = ...;        action before its scale; the third with critic_obs_dim
//   static constexpr EndCause ends[] = {{"fell"}, {"left", EndsAs::time_out}};
//   static constexpr GateBound gate[] = {{"speed", 1, 2, "m/s"}};   what a good policy reaches (drl_eval --gate), and
//   static constexpr const char* gate_options = "wind = 0\n";       options of the task with which it is played
//   static constexpr bool truncates = true;                 step() may set truncated itself
//   static constexpr bool finite_horizon = true;            a time-out counts as terminated: no value is bootstrapped
//   static constexpr int history = 3;
//     The actor observes the last 3 observations, oldest first. At reset, the first observation is repeated.
//   static constexpr int max_obs_dim = 18;
//   static constexpr int obs_dim_with(const Params&);
//     Let options change the number of observations: obs_dim_with returns it, max_obs_dim bounds it, and obs_dim must
//     equal obs_dim_with of the default options.
//   struct Scratch { ... };
//     Holds intermediate results of a step or reset that only the observations after it need. It is never stored.
//     create (then required), reset, step and the observe functions must declare all their arguments, and a Scratch&
//     (const Scratch& for the observe functions) after State.
//   template <class Canvas> static void draw(const State&, const Params&, Canvas&);   for videos (drl/canvas.hpp)
//   struct Curriculum {
//     Scalar<F> level = 0;
//     template <class V> void describe(V& visit) { visit("level", level); }
//     void update(const TrainingStats&);
//   } curriculum;
//     A member of Params: numbers that change during training. update() is called on the host after each iteration,
//     with the same statistics on all ranks. Checkpoints contain the numbers.
//
// An environment is lost if a float of its state, an observation or the reward is not finite. Its episode ends there as
// terminated, with a reward of 0, and is not counted; create() and reset() start the next one.
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

// Each task's header ends with DRL_TASK(MyTask), in namespace drl or at global scope. The macro expands to the loops or
// the table entry of the task in units that include drl/task/host_unit.hpp, drl/task/gpu_unit.hpp or
// drl/task/table_unit.hpp first. Elsewhere it expands to nothing.
#if !defined(DRL_TASK)
#define DRL_TASK(...)
#endif
