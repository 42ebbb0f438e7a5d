// The kernels of a task: reset and step all environments. They are function objects, written once for packs of
// environments on a CPU (one lane per environment) and for a GPU (one thread per environment).
#pragma once

#include <cstdint>
#include <type_traits>

#include "drl/task.hpp"
#include "drl/task/abi.hpp"
#include "drl/task/give_numbers.hpp"
#include "drl/task/step_row.hpp"

namespace drl {

// Selects which of an environment's episodes are counted in the sums. all_but_current excludes a current episode that
// started at a random age.
enum class Counted : uint8_t { all, all_but_current, only_current, none };

// Returns how many numbers a State consists of: 0 for a simulator, which stores its own state (drl/simulator.hpp).
template <class State>
constexpr int column_count() {
  return std::is_empty_v<State> || requires { typename State::Simulator; }
  ? 0 : static_cast<int>(sizeof(State) / 4);
}

// The state of all environments, in a queue's memory.
template <template <class> class Task>
struct Environments {
  using Spec = Task<float>;
  using Params = typename Spec::Params;
  using Action = std::conditional_t<Spec::action.discrete, int32_t, float>;
  static constexpr int kColumns = column_count<typename Spec::State>();
  static constexpr int kFrame = max_obs_dim_of<Spec>(), kHistory = (history_of<Spec>() - 1) * kFrame,
                       kObs = kHistory + kFrame;
  static constexpr int kCriticObs = critic_obs_dim_of<Spec>(), kActions = Spec::action.size;
  static constexpr int kTerms = reward_term_count<Spec>(), kMetrics = metric_count<Spec>(), kEnds = end_count<Spec>();
  static constexpr int kEndColumns = kEnds > 0 ? kEnds + (Spec::step_limit > 0) : 0;
  static constexpr int kSums = 3 + kTerms + kMetrics + kEndColumns + 1;
  // The numbers of a robot's model that environments draw.
  static constexpr int kModelNumbers = [] {
    if constexpr (requires { Spec::kModelNumbers; }) return Spec::kModelNumbers;
    return 0;
  }();
  // The robot's motors that a network can drive.
  static constexpr int kMotors = [] {
    if constexpr (requires { Spec::kMotors; }) return Spec::kMotors;
    return 0;
  }();
  // The numbers in memory that each environment's steps use on a GPU besides the stack.
  static constexpr int kRobotColumns = [] {
    if constexpr (requires { Spec::kColumnNumbers; }) return Spec::kColumnNumbers;
    return 0;
  }();
  static_assert(std::is_trivially_copyable_v<Params>);
  static_assert(history_of<Spec>() >= 1 && kEnds < 32);
  static_assert(!kObsDimVaries<Spec> || history_of<Spec>() == 1, "a task has either history or obs_dim_with, not both");

  int64_t n;
  uint64_t seed;
  int64_t first_global_index;
  void* state[kColumns + kHistory + 1];  // [n] each, float or int32_t
  int32_t* age;                          // [n] steps in this episode
  float* episode_reward;                 // [n]
  float* terms[kTerms + kMetrics + 1];   // [n] each, sums over this episode
  int32_t* ended_by;                     // [n] bit k: ended by cause k
  uint8_t* counted_episodes;             // [n] Counted
  // Sums over the episodes that ended since the sums were last taken. On a CPU, 2^sum_row_log2 neighbouring
  // environments share a row, so that all rows stay in the cache; on a GPU each thread has its own row.
  int sum_row_log2;
  double* sums;   // [n / 2^sum_row_log2 (rounded up), kSums]
  Params values;  // used if the task has options
  float weights[kTerms + 1];
  const float* curriculum;
  void* simulator;
  const float* model_bounds;  // [kModelNumbers, 2]
  bool model_per_episode;
  const MotorNetwork* motor_network;  // or null
  float* motor_memory;                // [kMotors * motor_network->memory, n]
  float* robot_columns;               // on a GPU [n / 32 (rounded up), kRobotColumns, 32]

  DRL_HD static Environments of(const LoopCall& call) {
    const EnvArrays& from = *call.envs;
    Environments envs;
    envs.n = from.num_envs, envs.seed = from.seed, envs.first_global_index = from.first_global_index;
    for (int c = 0; c < kColumns + kHistory; ++c) envs.state[c] = from.state[c];
    envs.age = from.age, envs.episode_reward = from.episode_reward;
    for (int t = 0; t < kTerms + kMetrics; ++t) envs.terms[t] = from.terms[t];
    for (int t = 0; t < kTerms; ++t) envs.weights[t] = call.reward_weights ? call.reward_weights[t] : 1;
    envs.ended_by = from.ended_by, envs.curriculum = from.curriculum;
    envs.counted_episodes = from.counted_episodes, envs.sums = from.sums, envs.simulator = from.simulator;
    envs.model_bounds = from.model_bounds, envs.model_per_episode = from.model_per_episode != 0;
    envs.motor_network = from.motor_network, envs.motor_memory = from.motor_memory;
    envs.robot_columns = from.robot_columns;
    for (envs.sum_row_log2 = 0; int64_t{1} << envs.sum_row_log2 < from.envs_per_sum_row;) ++envs.sum_row_log2;
    __builtin_memcpy(&envs.values, call.params, sizeof(Params));
    return envs;
  }

  // The environments of F's lanes, in registers.
  template <class F>
  struct EnvLanes {
    typename Task<F>::State state;
    Scratch<Task<F>> scratch;
    F history[kHistory + 1];  // the frames before the newest, oldest first
    Int<F> age;               // kLostAge: the environment is lost
    F episode_reward;
    F terms[kTerms + kMetrics + 1];
    Int<F> ended_by;
  };
  static constexpr int32_t kLostAge = -1;

  template <class F>
  DRL_HD void load_lanes(int64_t i, EnvLanes<F>& env) const {
    bind(i, env.state), bind_robot(i, env);
    each_column(env.state, [&](int c, auto& x)
                               DRL_LAMBDA { x = load<std::remove_reference_t<decltype(x)>>(column<F>(c, x) + i); });
    if constexpr (kModelNumbers > 0) {
      if constexpr (kLanesOf<F> == 1)
        each_number_of_model(env, [&](const float* from, F& x) DRL_LAMBDA { x = load<F>(from + i); });
      else  // steps read the numbers from memory
        env.scratch.robot.take_model(
            {reinterpret_cast<const float* const*>(state + model_column(env)), i, model_bounds, kModelNumbers});
    }
    for (int k = 0; k < kHistory; ++k) env.history[k] = load<F>(static_cast<const float*>(state[kColumns + k]) + i);
    env.age = load<Int<F>>(age + i);
    env.episode_reward = load<F>(episode_reward + i);
    for (int t = 0; t < kTerms + kMetrics; ++t) env.terms[t] = load<F>(terms[t] + i);
    if constexpr (kEnds > 0) env.ended_by = load<Int<F>>(ended_by + i);
  }
  template <class F>
  DRL_HD void store_lanes(int64_t i, EnvLanes<F>& env) const {
    each_column(env.state, [&](int c, auto& x) DRL_LAMBDA { store(column<F>(c, x) + i, x); });
    if constexpr (kModelNumbers > 0 && kLanesOf<F> == 1)  // only resets draw a model, one environment at a time
      each_number_of_model(env, [&](float* to, F& x) DRL_LAMBDA { store(to + i, x); });
    for (int k = 0; k < kHistory; ++k) store(static_cast<float*>(state[kColumns + k]) + i, env.history[k]);
    store(age + i, env.age);
    store(episode_reward + i, env.episode_reward);
    for (int t = 0; t < kTerms + kMetrics; ++t) store(terms[t] + i, env.terms[t]);
    if constexpr (kEnds > 0) store(ended_by + i, env.ended_by);
  }

  // Sets a simulator's State, which is a reference to environment i.
  template <class State>
  DRL_HD void bind(int64_t i, State& state) const {
    if constexpr (requires { typename State::Simulator; })
      state = {static_cast<typename State::Simulator*>(simulator), i};
  }

  // Gives the robot its memory from environment i on: that of its motors, and its columns. Loops in double have none.
  template <class F>
  DRL_HD void bind_robot([[maybe_unused]] int64_t i, [[maybe_unused]] EnvLanes<F>& env) const {
    if constexpr (kRobotColumns > 0 && DRL_ON_GPU && !std::is_same_v<F, double>)
      env.scratch.robot.place_columns(robot_columns + i / 32 * 32 * kRobotColumns + i % 32);
    if constexpr (kMotors > 0 && !std::is_same_v<F, double>)
      env.scratch.robot.drive(motor_network, motor_memory ? motor_memory + i : nullptr, n);
  }

  // Returns the parameters as Task<F> declares them. For double they are converted, since their layout differs.
  template <class F>
  DRL_HD typename Task<F>::Params params() const {
    typename Task<F>::Params params{};
    if constexpr (std::is_same_v<F, double>) {
      if constexpr (kHasOptions<Spec>) copy_numbers(values, params);
      if constexpr (kHasCurriculum<Spec>) copy_numbers(this->params<float>().curriculum, params.curriculum);
    } else {
      if constexpr (kHasOptions<Spec>) params = __builtin_bit_cast(typename Task<F>::Params, values);
      if constexpr (kHasCurriculum<Spec>)
        __builtin_memcpy(static_cast<void*>(&params.curriculum), curriculum, sizeof(params.curriculum));
    }
    return params;
  }

  // Returns the size of the actor's observation.
  DRL_HD int obs_dim() const {
    if constexpr (kObsDimVaries<Spec>) return Spec::obs_dim_with(params<float>());
    if constexpr (!kObsDimVaries<Spec>) return kObs;
  }

  // Returns the random numbers of the lanes' environments i, i + 1, ... at a step of their lifetime.
  template <class F>
  DRL_HD Draws<F> draws(int64_t i, uint64_t step, Purpose purpose) const {
    return {seed, static_cast<uint64_t>(first_global_index + i), step, purpose};
  }

  // Draws the numbers of the environment's model. `key` keys them, with a step of the lifetime. F has one lane.
  template <class F>
  DRL_HD void draw_model([[maybe_unused]] int64_t key, [[maybe_unused]] uint64_t step,
                         [[maybe_unused]] EnvLanes<F>& env) const {
    if constexpr (kModelNumbers > 0) {
      Draws<F> draws(seed, static_cast<uint64_t>(key), step, Purpose::model);
      int skipped = 0;
      for (int k = 0; k < kModelNumbers; ++k) {
        const float low = model_bounds[2 * k], high = model_bounds[2 * k + 1];
        if (low == high) {
          env.state.drawn.numbers[k] = F(low), skipped += 1;
          continue;
        }
        draws.skip(skipped), skipped = 0;
        env.state.drawn.numbers[k] = draws.uniform(F(low), F(high));
      }
      Task<F>::derive_model(env.state);
    }
  }

  // Starts an episode at a step of the lifetime. `index` keys its random numbers. F has one lane.
  template <class F>
  DRL_HD void start_episode(int64_t index, uint64_t step, EnvLanes<F>& env) const {
    Draws<F> draws(seed, static_cast<uint64_t>(index), step, Purpose::reset);
    if (kModelNumbers > 0 && model_per_episode) draw_model(index, step, env);
    task::reset<Task<F>, F>(env.state, env.scratch, draws, params<F>());
    env.age = 0;
    env.episode_reward = 0;
    for (int t = 0; t < kTerms + kMetrics; ++t) env.terms[t] = 0;
  }
  // Creates environment i, as at the start of its lifetime. F has one lane.
  template <class F>
  DRL_HD void create(int64_t i, int64_t key, EnvLanes<F>& env) const {
    env.state = typename Task<F>::State{};
    bind(i, env.state), bind_robot(i, env);
    draw_model(key, 0, env);
    Draws<F> draws(seed, static_cast<uint64_t>(key), 0, Purpose::create);
    task::create<Task<F>, F>(env.state, env.scratch, draws, params<F>());
  }

  DRL_HD double* sums_of(int64_t i) const { return sums + (i >> sum_row_log2) * kSums; }

  // Adds environment i's episode to the sums, if it is counted. F has one lane.
  template <class F>
  DRL_HD void count_ended(const EnvLanes<F>& env, int64_t i) const {
    double* own = sums_of(i);
    const Counted counted{counted_episodes[i]};
    if (env.age == kLostAge) {
      own[kSums - 1] += 1;
    } else if (counted == Counted::all || counted == Counted::only_current) {
      own[0] += 1;
      own[1] += static_cast<double>(env.episode_reward);
      own[2] += env.age;
      own += 3;
      for (int t = 0; t < kTerms; ++t) *own++ += static_cast<double>(env.terms[t]);
      for (int m = 0; m < kMetrics; ++m) *own++ += static_cast<double>(env.terms[kTerms + m]) / env.age;
      for (int k = 0; k < kEndColumns; ++k) *own++ += env.ended_by >> k & 1;
    }
    const bool counts_later = counted == Counted::all || counted == Counted::all_but_current;
    counted_episodes[i] = static_cast<uint8_t>(counts_later ? Counted::all : Counted::none);
  }

  // The observations of actor and critic.
  template <class F>
  struct Observations {
    F actor[kObs], critic[kCriticObs + 1];
  };
  template <class F>
  DRL_HD void observe(int64_t i, uint64_t step, Purpose purpose, EnvLanes<F>& env, Observations<F>& obs) const {
    auto numbers = draws<F>(i, step, purpose);
    F* newest = obs.actor + kHistory;
    if constexpr (kObsDimVaries<Spec>)
      for (int o = obs_dim(); o < kObs; ++o) obs.actor[o] = F(0);
    task::observe<Task<F>, F>(env.state, env.scratch, numbers, params<F>(), newest);
    DRL_ROLLED_IF_LONG(kHistory)
    for (int k = 0; k < kHistory; ++k)
      obs.actor[k] = purpose == Purpose::first_observe ? newest[k % kFrame] : env.history[k];
    DRL_ROLLED_IF_LONG(kHistory)
    for (int k = 0; k < kHistory; ++k) env.history[k] = obs.actor[k + kFrame];
    if constexpr (kCriticObs > 0) task::observe_critic<Task<F>, F>(env.state, env.scratch, params<F>(), obs.critic);
  }
  // Returns the sum of the state, the observations and the reward. It is not finite if one of them is not (or if they
  // are so large that the sum overflows).
  template <class F>
  DRL_HD F sum_of_values(EnvLanes<F>& env, const Observations<F>& obs, F reward) const {
    // Two sums, because a task often observes exactly its state: compilers then compute only one.
    F numbers = F(0), frame = obs.actor[kHistory];
    bool is_first = true;
    each_column(env.state, [&]<class X>(int, X& x) DRL_LAMBDA {
      if constexpr (std::is_same_v<X, F>) {
        numbers = is_first ? x : numbers + x;
        is_first = false;
      }
    });
    DRL_ROLLED_IF_LONG(kObs)
    for (int o = kHistory + 1; o < kObs; ++o) frame += obs.actor[o];
    DRL_ROLLED_IF_LONG(kCriticObs)
    for (int o = 0; o < kCriticObs; ++o) frame += obs.critic[o];
    return numbers + frame + reward;
  }
  // Writes the first observation of an episode. If a value is not finite, writes zeros and counts a lost environment.
  // F has one lane.
  template <class F>
  DRL_HD void observe_first(int64_t i, uint64_t step, EnvLanes<F>& env, Observations<F>& obs) const {
    observe(i, step, Purpose::first_observe, env, obs);
    if (all_finite(sum_of_values(env, obs, F(0)))) return;
    clear_observations(env, obs);
    sums_of(i)[kSums - 1] += 1;
  }
  template <class F>
  DRL_HD static void clear_observations(EnvLanes<F>& env, Observations<F>& obs) {
    DRL_ROLLED_IF_LONG(kObs)
    for (F& x : obs.actor) x = 0;
    DRL_ROLLED_IF_LONG(kCriticObs)
    for (F& x : obs.critic) x = 0;
    DRL_ROLLED_IF_LONG(kHistory)
    for (F& x : env.history) x = 0;
  }
  template <class F>
  DRL_HD void store_observations(int64_t i, const StepRow& row, const Observations<F>& obs) const {
    const int dim = obs_dim();
    if (dim == Spec::obs_dim * history_of<Spec>()) {
      store_rows<Spec::obs_dim * history_of<Spec>()>(row.next_obs + i * dim, obs.actor);
    } else {
      store_rows(row.next_obs + i * dim, obs.actor, dim);
    }
    if constexpr (kCriticObs > 0) store_rows<kCriticObs>(row.next_critic_obs + i * kCriticObs, obs.critic);
  }

  template <class F>
  struct Outcome {
    F reward;
    Mask<F> terminated, truncated;
  };
  // Steps the lanes and writes their observations. Lanes whose episode ends are not reset here.
  template <class F>
  DRL_HD Outcome<F> step_lanes(int64_t i, uint64_t step, EnvLanes<F>& env, const F* action,
                               Observations<F>& obs) const {
    auto numbers = draws<F>(i, step, Purpose::step);
    auto result = task::step<Task<F>, F>(env.state, env.scratch, action, numbers, params<F>());
    if constexpr (kHasWeights<Spec>)
      for (int t = 0; t < kTerms; ++t) {
        result.terms[t] *= F(weights[t]);
        result.reward += result.terms[t];
      }
    observe(i, step, Purpose::observe, env, obs);
    env.age = env.age + Int<F>(1);
    env.episode_reward += result.reward;
    for (int t = 0; t < kTerms; ++t) env.terms[t] += result.terms[t];
    for (int m = 0; m < kMetrics; ++m) env.terms[kTerms + m] += result.metrics[m];
    return end_episodes(env, result);
  }

  // Determines which episodes end, and why.
  template <class F, class Result>
  DRL_HD Outcome<F> end_episodes(EnvLanes<F>& env, const Result& result) const {
    Mask<F> terminated = result.terminated, truncated = result.truncated;
    env.ended_by = Int<F>(0);
    const auto by = [&](int k, Mask<F> mask)
                        DRL_LAMBDA { env.ended_by = env.ended_by | math::select(mask, Int<F>(1 << k), Int<F>(0)); };
    constexpr uint32_t kTimeOuts = time_outs<Spec>();
    for (int k = 0; k < kEnds; ++k) {
      by(k, result.ends[k]);
      if (kTimeOuts >> k & 1) {
        truncated = truncated | result.ends[k];
      } else {
        terminated = terminated | result.ends[k];
      }
    }
    if constexpr (Spec::step_limit > 0) {
      const Mask<F> at_limit = env.age >= Int<F>(Spec::step_limit);
      truncated = truncated | at_limit;
      if constexpr (kEnds > 0) by(kEnds, at_limit);
    }
    if constexpr (finite_horizon<Spec>()) terminated = terminated | truncated;
    truncated = truncated & !terminated;
    return {result.reward, terminated, truncated};
  }

  // Ends the episodes of the lanes whose `sum` (of sum_of_values) is not finite, and marks their environments as lost.
  // Returns these lanes.
  template <class F>
  DRL_HD Mask<F> mark_lost(F sum, EnvLanes<F>& env, Outcome<F>& outcome) const {
    const Mask<F> is_lost = sum - sum != F(0);
    env.age = math::select(is_lost, Int<F>(kLostAge), env.age);
    outcome.reward = math::select(is_lost, F(0), outcome.reward);
    outcome.terminated = outcome.terminated | is_lost;
    outcome.truncated = outcome.truncated & !is_lost;
    return is_lost;
  }

  // Starts the next episode of environment i, whose last one ended at step `step`. On entry, `obs` holds the last
  // observation of the ended episode, which is stored in `row`; on return, the first one of the new episode. F has one
  // lane.
  template <class F>
  DRL_HD void reset_ended(int64_t i, uint64_t step, bool truncated, const StepRow& row, EnvLanes<F>& env,
                          Observations<F>& obs) const {
    const bool was_lost = env.age == kLostAge;
    if (was_lost) clear_observations(env, obs);
    const int64_t at = row.take_last_row(i, n, truncated);
    const int dim = obs_dim();
    DRL_ROLLED_IF_LONG(kObs)
    for (int o = 0; o < dim && at >= 0; ++o) row.last_obs[at * dim + o] = static_cast<float>(obs.actor[o]);
    DRL_ROLLED_IF_LONG(kCriticObs)
    for (int o = 0; o < kCriticObs && at >= 0; ++o)
      row.last_critic_obs[at * kCriticObs + o] = static_cast<float>(obs.critic[o]);
    count_ended(env, i);
    if (was_lost) create(i, first_global_index + i, env);
    start_episode(first_global_index + i, step + 1, env);
    observe_first(i, step + 1, env, obs);
  }

 private:
  // Returns the column of the first number of a robot's model; the constants that follow from them come next.
  template <class F>
  DRL_HD static std::ptrdiff_t model_column(const EnvLanes<F>& env) {
    return reinterpret_cast<const F*>(&env.state.drawn) - reinterpret_cast<const F*>(&env.state);
  }
  // Calls visit(column, number) for each number of a robot's model and each constant. Numbers whose bounds are equal
  // are not in memory: they are set to their bound.
  template <class F, class Visit>
  DRL_HD void each_number_of_model(EnvLanes<F>& env, const Visit& visit) const {
    auto& drawn = env.state.drawn;
    void* const* columns = state + model_column(env);
    for (int k = 0; k < kModelNumbers; ++k)
      if (model_bounds[2 * k] == model_bounds[2 * k + 1])
        drawn.numbers[k] = F(model_bounds[2 * k]);
      else
        visit(static_cast<float*>(columns[k]), drawn.numbers[k]);
    for (int k = 0; k < static_cast<int>(std::extent_v<decltype(drawn.constants)>); ++k)
      visit(static_cast<float*>(columns[kModelNumbers + k]), drawn.constants[k]);
  }
  // Calls visit(c, number) for each number of a State but those of a robot's model.
  template <class State, class Visit>
  DRL_HD static void each_column(State& state, const Visit& visit) {
    int c = 0;
    auto number = [&](auto& x) DRL_LAMBDA { visit(c++, x); };
    auto member = [&](const char*, auto& m) DRL_LAMBDA {
      if constexpr (kModelNumbers > 0)
        if (const void* at = &m; at == &state.drawn.numbers || at == &state.drawn.constants) {
          c += static_cast<int>(sizeof(m) / sizeof(state.drawn.numbers[0]));
          return;
        }
      each_number(m, number);
    };
    state.describe(member);
  }
  template <class F, class X>
  DRL_HD auto* column(int c, const X&) const {
    static_assert(std::is_same_v<X, F> || std::is_same_v<X, Int<F>>, "a State may hold F, Int<F> and arrays of them");
    return static_cast<std::conditional_t<std::is_same_v<X, F>, float, int32_t>*>(state[c]);
  }
};

// Resets all environments and writes their first observations.
template <template <class> class Task>
struct ResetAll {
  Environments<Task> envs;
  StepRow row;
  Start start;
  bool random_start_ages;
  // Environments are reset one by one, since those of a group share a key.
  DRL_HD void operator()(int64_t i) const { one<float>(i); }
  template <class F>
  DRL_HD void one(int64_t i) const {
    using Envs = Environments<Task>;
    const bool groups = start.group_size > 0;
    envs.counted_episodes[i] = static_cast<uint8_t>(random_start_ages ? Counted::all_but_current
                                                    : groups          ? Counted::only_current
                                                                      : Counted::all);
    const int64_t index = envs.first_global_index + i, key = groups ? index / start.group_size : index;
    typename Envs::template EnvLanes<F> env{};
    envs.create(i, key, env);
    envs.start_episode(key, start.step.value(), env);
    typename Envs::template Observations<F> obs;
    envs.observe_first(i, start.step.value(), env, obs);
    envs.store_observations(i, row, obs);
    if (random_start_ages) {
      const float share =
          uniform01(random_bits(envs.seed, Purpose::start_age, static_cast<uint64_t>(index), start.step.value())[0]);
      env.age = static_cast<int32_t>(share * static_cast<float>(Task<float>::step_limit));
    }
    envs.store_lanes(i, env);
  }
};

// Steps all environments. On a GPU, environments whose episode ends are reset at once. On a CPU, ResetEnded does that:
// consecutive packs overlap in the processor's pipeline as long as the step has no branch.
template <template <class> class Task, bool ResetsEnded>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  LifetimeStep step;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    const auto* actions = static_cast<const typename Envs::Action*>(row.action) + i * Envs::kActions;
    F action[Envs::kActions];
    typename Envs::template Observations<F> obs;
    if constexpr (Envs::kActions == 1) {
      action[0] = load<F>(actions);
    } else if constexpr (Envs::Spec::action.discrete) {
      for (int a = 0; a < Envs::kActions; ++a)
        action[a] = convert<F>(load_strided<Int<F>>(actions + a, Envs::kActions));
    } else {
      for (int a = 0; a < Envs::kActions; ++a) action[a] = load_strided<F>(actions + a, Envs::kActions);
    }
    if constexpr (requires { Envs::Spec::action.each; }) {
      constexpr auto space = Envs::Spec::action;
      for (int a = 0; a < Envs::kActions; ++a) action[a] = F(space.each[a].offset) + F(space.each[a].scale) * action[a];
    }
    typename Envs::template EnvLanes<F> env;
    envs.load_lanes(i, env);
    auto outcome = envs.step_lanes(i, step.value(), env, action, obs);
    const F sum = envs.sum_of_values(env, obs, outcome.reward);
    if constexpr (kLanesOf<F> == 1) {
      const bool is_lost = !all_finite(sum);
      if (is_lost) envs.mark_lost(sum, env, outcome);
      store_outcome(i, outcome);
      if (is_lost) row.terminated[i] = kLost;
      if constexpr (ResetsEnded)
        if (outcome.terminated || outcome.truncated)
          envs.reset_ended(i, step.value(), outcome.truncated, row, env, obs);
      envs.store_lanes(i, env);
    } else {  // stores first, and corrects lost lanes afterwards, so that no store waits for the sum
      store_outcome(i, outcome);
      envs.store_lanes(i, env);
      if (!all_finite(sum)) [[unlikely]] {
        uint8_t is_lost[kLanesOf<F>];
        store(is_lost, envs.mark_lost(sum, env, outcome));
        store_outcome(i, outcome);
        for (int l = 0; l < kLanesOf<F>; ++l)
          if (is_lost[l]) row.terminated[i + l] = kLost;
        store(envs.age + i, env.age);
      }
    }
    envs.store_observations(i, row, obs);
  }

 private:
  template <class Outcome>
  DRL_HD void store_outcome(int64_t i, const Outcome& outcome) const {
    store(row.reward + i, outcome.reward);
    store(row.terminated + i, outcome.terminated);
    store(row.truncated + i, outcome.truncated);
  }
};

// Resets the environments in [first + 64 k, first + 64 (k + 1)) whose episode ended in the step that wrote `row`.
// Usually there is none.
template <template <class> class Task>
struct ResetEnded {
  using Envs = Environments<Task>;
  Envs envs;
  StepRow row;
  LifetimeStep step;
  int64_t first, last;
  DRL_HD void operator()(int64_t k) const {
    const int64_t begin = first + kEnvs * k, end = last - begin < kEnvs ? last : begin + kEnvs;
    for (uint64_t left = ended(begin, end); left != 0; left &= left - 1) reset_one(begin + __builtin_ctzll(left));
  }
  static constexpr int64_t kEnvs = 64;

 private:
  DRL_HD void reset_one(int64_t i) const {
    typename Envs::template EnvLanes<float> env;
    envs.load_lanes(i, env);
    typename Envs::template Observations<float> obs;  // from the row, where the step stored them
    const int dim = envs.obs_dim();
    for (int o = 0; o < dim; ++o) obs.actor[o] = row.next_obs[i * dim + o];
    for (int o = 0; o < Envs::kCriticObs; ++o) obs.critic[o] = row.next_critic_obs[i * Envs::kCriticObs + o];
    envs.reset_ended(i, step.value(), row.truncated[i] != 0, row, env, obs);
    envs.store_observations(i, row, obs);
    envs.store_lanes(i, env);
  }

  // Returns a bit mask in which bit l is set if the episode of environment begin + l has ended.
  DRL_HD uint64_t ended(int64_t begin, int64_t end) const {
    uint64_t bits = 0;
    if (end - begin < kEnvs) {
      for (int64_t i = begin; i < end; ++i)
        bits |= static_cast<uint64_t>((row.terminated[i] | row.truncated[i]) & 1) << (i - begin);
      return bits;
    }
    uint64_t flags[kEnvs / 8], any = 0;  // eight flags each: the lowest bits of the bytes
    for (int w = 0; w < kEnvs / 8; ++w) {
      flags[w] = load_eight(row.terminated + begin + 8 * w) | load_eight(row.truncated + begin + 8 * w);
      any |= flags[w];
    }
    if (any == 0) return 0;
    // The highest byte of the product collects a word's flags. A loop per word would be slower, since the processor
    // would mispredict most of the ends of these loops.
    for (int w = 0; w < kEnvs / 8; ++w) bits |= (flags[w] & 0x0101010101010101u) * 0x0102040810204080u >> 56 << 8 * w;
    return bits;
  }
  DRL_HD static uint64_t load_eight(const uint8_t* from) {
    uint64_t word;
    __builtin_memcpy(&word, from, 8);
    return word;
  }
};

}  // namespace drl
