// What is done to all of a task's environments, as function objects: one source for the lanes of a CPU and for a GPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "drl/give_numbers.hpp"
#include "drl/step_row.hpp"
#include "drl/task.hpp"
#include "drl/task_abi.hpp"

namespace drl {

// Which of an environment's episodes are counted: all; all but the present one, which began at a random age; the
// present one only; none.
enum class Counted : uint8_t { all, all_later, only_this, none };

// Numbers that a State consists of; those of a simulator are its own (drl/simulator.hpp).
template <class State>
constexpr int column_count() {
  return std::is_empty_v<State> || requires { typename State::Simulator; }
  ? 0 : static_cast<int>(sizeof(State) / 4);
}

// All environments' state, in the memory of a queue.
template <template <class> class Task>
struct Environments {
  using Spec = Task<float>;
  using Params = typename Spec::Params;
  using Action = std::conditional_t<Spec::action.discrete, int32_t, float>;
  static constexpr int kColumns = column_count<typename Spec::State>();
  static constexpr int kFrame = max_obs_dim_of<Spec>(), kKept = (history_of<Spec>() - 1) * kFrame,
                       kObs = kKept + kFrame;
  static constexpr int kCriticObs = critic_obs_dim_of<Spec>(), kActions = Spec::action.size;
  static constexpr int kTerms = reward_term_count<Spec>(), kMetrics = metric_count<Spec>(), kEnds = end_count<Spec>();
  static constexpr int kEndColumns = kEnds > 0 ? kEnds + (Spec::step_limit > 0) : 0;
  static constexpr int kSums = 3 + kTerms + kMetrics + kEndColumns + 1;
  static_assert(std::is_trivially_copyable_v<Params>);
  static_assert(history_of<Spec>() >= 1 && kEnds < 32);
  static_assert(!kObsDimVaries<Spec> || history_of<Spec>() == 1, "a history is of observations of one size");

  int64_t n;
  uint64_t seed;
  int64_t first_global_index;
  void* state[kColumns + kKept + 1];    // [n] each, float or int32_t
  int32_t* age;                         // [n] steps in this episode
  float* episode_reward;                // [n]
  float* terms[kTerms + kMetrics + 1];  // [n] each, sums over this episode
  int32_t* ended_by;                    // [n] bit k: by cause k
  uint8_t* stale;                       // [n] Counted
  // Of ended episodes, since they were last taken. On a CPU neighbours share a row, so that all rows stay in the cache;
  // on a GPU each thread has its own.
  int sharers_log2;
  double* sums;   // [n >> sharers_log2, kSums]
  Params values;  // of a task with options; others' are constants
  float weights[kTerms + 1];
  const float* curriculum;
  void* simulator;

  DRL_HD static Environments of(const LoopCall& call) {
    const EnvArrays& from = *call.envs;
    Environments envs;
    envs.n = from.num_envs, envs.seed = from.seed, envs.first_global_index = from.first_global_index;
    for (int c = 0; c < kColumns + kKept; ++c) envs.state[c] = from.state[c];
    envs.age = from.age, envs.episode_reward = from.episode_reward;
    for (int t = 0; t < kTerms + kMetrics; ++t) envs.terms[t] = from.terms[t];
    for (int t = 0; t < kTerms; ++t) envs.weights[t] = call.reward_weights ? call.reward_weights[t] : 1;
    envs.ended_by = from.ended_by, envs.curriculum = from.curriculum;
    envs.stale = from.stale, envs.sums = from.sums, envs.simulator = from.simulator;
    for (envs.sharers_log2 = 0; int64_t{1} << envs.sharers_log2 < from.sharers;) ++envs.sharers_log2;
    __builtin_memcpy(&envs.values, call.params, sizeof(Params));
    return envs;
  }

  // The environments of F's lanes, in registers.
  template <class F>
  struct Some {
    typename Task<F>::State state;
    Scratch<Task<F>> scratch;
    F kept[kKept + 1];  // the frames before the newest, oldest first
    Int<F> age;         // kLost: the episode is
    F episode_reward;
    F terms[kTerms + kMetrics + 1];
    Int<F> ended_by;
  };
  static constexpr int32_t kLost = -1;

  template <class F>
  DRL_HD void load_some(int64_t i, Some<F>& some) const {
    bind(i, some.state);
    each_column(some.state, [&](int c, auto& x)
                                DRL_LAMBDA { x = load<std::remove_reference_t<decltype(x)>>(column<F>(c, x) + i); });
    for (int k = 0; k < kKept; ++k) some.kept[k] = load<F>(static_cast<const float*>(state[kColumns + k]) + i);
    some.age = load<Int<F>>(age + i);
    some.episode_reward = load<F>(episode_reward + i);
    for (int t = 0; t < kTerms + kMetrics; ++t) some.terms[t] = load<F>(terms[t] + i);
    if constexpr (kEnds > 0) some.ended_by = load<Int<F>>(ended_by + i);
  }
  template <class F>
  DRL_HD void store_some(int64_t i, Some<F>& some) const {
    each_column(some.state, [&](int c, auto& x) DRL_LAMBDA { store(column<F>(c, x) + i, x); });
    for (int k = 0; k < kKept; ++k) store(static_cast<float*>(state[kColumns + k]) + i, some.kept[k]);
    store(age + i, some.age);
    store(episode_reward + i, some.episode_reward);
    for (int t = 0; t < kTerms + kMetrics; ++t) store(terms[t] + i, some.terms[t]);
    if constexpr (kEnds > 0) store(ended_by + i, some.ended_by);
  }

  // A simulator's State says which environment it is.
  template <class State>
  DRL_HD void bind(int64_t i, State& state) const {
    if constexpr (requires { typename State::Simulator; })
      state = {static_cast<typename State::Simulator*>(simulator), i};
  }

  // As Task<F> wants them: of double they are laid out otherwise.
  template <class F>
  DRL_HD typename Task<F>::Params params() const {
    typename Task<F>::Params params{};
    if constexpr (std::is_same_v<F, double>) {
      if constexpr (kHasOptions<Spec>) give_numbers(values, params);
      if constexpr (kHasCurriculum<Spec>) give_numbers(this->params<float>().curriculum, params.curriculum);
    } else {
      if constexpr (kHasOptions<Spec>) params = __builtin_bit_cast(typename Task<F>::Params, values);
      if constexpr (kHasCurriculum<Spec>)
        __builtin_memcpy(static_cast<void*>(&params.curriculum), curriculum, sizeof(params.curriculum));
    }
    return params;
  }

  // How many numbers the actor sees.
  DRL_HD int obs_dim() const {
    if constexpr (kObsDimVaries<Spec>) return Spec::obs_dim_with(params<float>());
    if constexpr (!kObsDimVaries<Spec>) return kObs;
  }

  // The random numbers of environment i and on, at a step of their lifetime.
  template <class F>
  DRL_HD Draws<F> draws(int64_t i, uint64_t step, Purpose purpose) const {
    return {seed, static_cast<uint64_t>(first_global_index + i), step, purpose};
  }

  // Begins an episode at a step of the lifetime. `index` keys its random numbers. Here and below F is one lane.
  template <class F>
  DRL_HD void start_episode(int64_t index, uint64_t step, Some<F>& some) const {
    Draws<F> draws(seed, static_cast<uint64_t>(index), step, Purpose::reset);
    task::reset<Task<F>, F>(some.state, some.scratch, draws, params<F>());
    some.age = 0;
    some.episode_reward = 0;
    for (int t = 0; t < kTerms + kMetrics; ++t) some.terms[t] = 0;
  }
  // What an environment is for its lifetime: the same at every such start.
  template <class F>
  DRL_HD void create(int64_t i, int64_t key, Some<F>& some) const {
    some.state = typename Task<F>::State{};
    bind(i, some.state);
    Draws<F> draws(seed, static_cast<uint64_t>(key), 0, Purpose::create);
    task::create<Task<F>, F>(some.state, some.scratch, draws, params<F>());
  }

  DRL_HD double* sums_of(int64_t i) const { return sums + (i >> sharers_log2) * kSums; }

  // Adds environment i's episode to its sums, if it is counted.
  template <class F>
  DRL_HD void count_ended(const Some<F>& some, int64_t i) const {
    double* own = sums_of(i);
    const Counted counted{stale[i]};
    if (some.age == kLost) {
      own[kSums - 1] += 1;
    } else if (counted == Counted::all || counted == Counted::only_this) {
      own[0] += 1;
      own[1] += static_cast<double>(some.episode_reward);
      own[2] += some.age;
      own += 3;
      for (int t = 0; t < kTerms; ++t) *own++ += static_cast<double>(some.terms[t]);
      for (int m = 0; m < kMetrics; ++m) *own++ += static_cast<double>(some.terms[kTerms + m]) / some.age;
      for (int k = 0; k < kEndColumns; ++k) *own++ += some.ended_by >> k & 1;
    }
    const bool any_later = counted == Counted::all || counted == Counted::all_later;
    stale[i] = static_cast<uint8_t>(any_later ? Counted::all : Counted::none);
  }

  // What actor and critic see.
  template <class F>
  struct Seen {
    F obs[kObs], critic[kCriticObs + 1];
  };
  template <class F>
  DRL_HD void look(int64_t i, uint64_t step, Purpose purpose, Some<F>& some, Seen<F>& seen) const {
    auto numbers = draws<F>(i, step, purpose);
    F* newest = seen.obs + kKept;
    if constexpr (kObsDimVaries<Spec>)
      for (int o = obs_dim(); o < kObs; ++o) seen.obs[o] = F(0);
    task::observe<Task<F>, F>(some.state, some.scratch, numbers, params<F>(), newest);
    for (int k = 0; k < kKept; ++k) seen.obs[k] = purpose == Purpose::first_observe ? newest[k % kFrame] : some.kept[k];
    for (int k = 0; k < kKept; ++k) some.kept[k] = seen.obs[k + kFrame];
    if constexpr (kCriticObs > 0) task::observe_critic<Task<F>, F>(some.state, some.scratch, params<F>(), seen.critic);
  }
  // Of all numbers: not finite if one of them is not (or if they are so large that their sum is not).
  template <class F>
  DRL_HD F sum_of_numbers(Some<F>& some, const Seen<F>& seen, F reward) const {
    F numbers = F(0), frame = seen.obs[kKept];  // two sums, which are often of the same numbers, and then one
    bool is_first = true;
    each_column(some.state, [&]<class X>(int, X& x) DRL_LAMBDA {
      if constexpr (std::is_same_v<X, F>) {
        numbers = is_first ? x : numbers + x;
        is_first = false;
      }
    });
    for (int o = kKept + 1; o < kObs; ++o) frame += seen.obs[o];
    for (int o = 0; o < kCriticObs; ++o) frame += seen.critic[o];
    return numbers + frame + reward;
  }
  // The first observation of an episode.
  template <class F>
  DRL_HD void look_first(int64_t i, uint64_t step, Some<F>& some, Seen<F>& seen) const {
    look(i, step, Purpose::first_observe, some, seen);
    if (all_finite(sum_of_numbers(some, seen, F(0)))) return;
    see_nothing(some, seen);
    sums_of(i)[kSums - 1] += 1;
  }
  template <class F>
  DRL_HD static void see_nothing(Some<F>& some, Seen<F>& seen) {
    for (F& x : seen.obs) x = 0;
    for (F& x : seen.critic) x = 0;
    for (F& x : some.kept) x = 0;
  }
  template <class F>
  DRL_HD void store_seen(int64_t i, const StepRow& row, const Seen<F>& seen) const {
    const int dim = obs_dim();
    if (dim == Spec::obs_dim * history_of<Spec>()) {
      store_rows<Spec::obs_dim * history_of<Spec>()>(row.next_obs + i * dim, seen.obs);
    } else {
      store_rows(row.next_obs + i * dim, seen.obs, dim);
    }
    if constexpr (kCriticObs > 0) store_rows<kCriticObs>(row.next_critic_obs + i * kCriticObs, seen.critic);
  }

  template <class F>
  struct Outcome {
    F reward;
    Mask<F> terminated, truncated;
  };
  // A step of the lanes in `some`, after which `seen` is seen. Those whose episode it ends do not begin another yet.
  template <class F>
  DRL_HD Outcome<F> advance(int64_t i, uint64_t step, Some<F>& some, const F* action, Seen<F>& seen) const {
    auto numbers = draws<F>(i, step, Purpose::step);
    auto result = task::step<Task<F>, F>(some.state, some.scratch, action, numbers, params<F>());
    if constexpr (kHasWeights<Spec>)
      for (int t = 0; t < kTerms; ++t) {
        result.terms[t] *= F(weights[t]);
        result.reward += result.terms[t];
      }
    look(i, step, Purpose::observe, some, seen);
    some.age = some.age + Int<F>(1);
    some.episode_reward += result.reward;
    for (int t = 0; t < kTerms; ++t) some.terms[t] += result.terms[t];
    for (int m = 0; m < kMetrics; ++m) some.terms[kTerms + m] += result.metrics[m];
    return end(some, result);
  }

  // Which episodes end, and why.
  template <class F, class Result>
  DRL_HD Outcome<F> end(Some<F>& some, const Result& result) const {
    Mask<F> terminated = result.terminated, truncated = result.truncated;
    some.ended_by = Int<F>(0);
    const auto by = [&](int k, Mask<F> mask)
                        DRL_LAMBDA { some.ended_by = some.ended_by | math::select(mask, Int<F>(1 << k), Int<F>(0)); };
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
      const Mask<F> at_limit = some.age >= Int<F>(Spec::step_limit);
      truncated = truncated | at_limit;
      if constexpr (kEnds > 0) by(kEnds, at_limit);
    }
    if constexpr (finite_horizon<Spec>()) terminated = terminated | truncated;
    truncated = truncated & !terminated;
    return {result.reward, terminated, truncated};
  }

  // Ends the episodes of the lanes in which `sum`, of all numbers, is not finite.
  template <class F>
  DRL_HD void lose(F sum, Some<F>& some, Outcome<F>& outcome) const {
    const Mask<F> is_lost = sum - sum != F(0);
    some.age = math::select(is_lost, Int<F>(kLost), some.age);
    outcome.reward = math::select(is_lost, F(0), outcome.reward);
    outcome.terminated = outcome.terminated | is_lost;
    outcome.truncated = outcome.truncated & !is_lost;
  }

  // Environment i, which is in `some`, begins another episode after the step `step`: `seen` was the last one's last
  // observation, and becomes the new one's first.
  template <class F>
  DRL_HD void begin_another(int64_t i, uint64_t step, bool truncated, const StepRow& row, Some<F>& some,
                            Seen<F>& seen) const {
    const bool was_lost = some.age == kLost;
    if (was_lost) see_nothing(some, seen);
    const int64_t at = row.take_last_row(i, n, truncated);
    const int dim = obs_dim();
    for (int o = 0; o < dim && at >= 0; ++o) row.last_obs[at * dim + o] = static_cast<float>(seen.obs[o]);
    if constexpr (kCriticObs > 0)
      for (int o = 0; o < kCriticObs && at >= 0; ++o)
        row.last_critic_obs[at * kCriticObs + o] = static_cast<float>(seen.critic[o]);
    count_ended(some, i);
    if (was_lost) create(i, first_global_index + i, some);
    start_episode(first_global_index + i, step + 1, some);
    look_first(i, step + 1, some, seen);
  }

 private:
  // Calls visit(c, number) for the numbers of a State.
  template <class State, class Visit>
  DRL_HD static void each_column(State& state, const Visit& visit) {
    int c = 0;
    auto number = [&](auto& x) DRL_LAMBDA { visit(c++, x); };
    auto member = [&](const char*, auto& m) DRL_LAMBDA { each_number(m, number); };
    state.describe(member);
  }
  template <class F, class X>
  DRL_HD auto* column(int c, const X&) const {
    static_assert(std::is_same_v<X, F> || std::is_same_v<X, Int<F>>, "a State holds F and Int<F>, and arrays of them");
    return static_cast<std::conditional_t<std::is_same_v<X, F>, float, int32_t>*>(state[c]);
  }
};

template <template <class> class Task>
struct ResetAll {
  Environments<Task> envs;
  StepRow row;
  Start start;
  bool random_start_ages;
  DRL_HD void operator()(int64_t i) const { one<float>(i); }  // one by one: a group's environments have one key
  template <class F>
  DRL_HD void one(int64_t i) const {
    using Envs = Environments<Task>;
    const bool groups = start.group_size > 0;
    envs.stale[i] = static_cast<uint8_t>(random_start_ages ? Counted::all_later
                                         : groups          ? Counted::only_this
                                                           : Counted::all);
    const int64_t index = envs.first_global_index + i, key = groups ? index / start.group_size : index;
    typename Envs::template Some<F> some{};
    envs.create(i, key, some);
    envs.start_episode(key, start.step.value(), some);
    typename Envs::template Seen<F> seen;
    envs.look_first(i, start.step.value(), some, seen);
    envs.store_seen(i, row, seen);
    if (random_start_ages) {
      const float share =
          uniform01(random_bits(envs.seed, Purpose::start_age, static_cast<uint64_t>(index), start.step.value())[0]);
      some.age = static_cast<int32_t>(share * static_cast<float>(Task<float>::step_limit));
    }
    envs.store_some(i, some);
  }
};

// A step of all environments. On a GPU those whose episode it ends begin another at once; on a CPU that is left to
// BeginOthers, since packs that are stepped without a branch overlap each other.
template <template <class> class Task, bool BeginsOthers>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  LifetimeStep step;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    const auto* actions = static_cast<const typename Envs::Action*>(row.action) + i * Envs::kActions;
    F action[Envs::kActions];
    typename Envs::template Seen<F> seen;
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
    typename Envs::template Some<F> some;
    envs.load_some(i, some);
    auto outcome = envs.advance(i, step.value(), some, action, seen);
    const F sum = envs.sum_of_numbers(some, seen, outcome.reward);
    if constexpr (kLanesOf<F> == 1) {
      if (!all_finite(sum)) envs.lose(sum, some, outcome);
      give(i, outcome);
      if constexpr (BeginsOthers)
        if (outcome.terminated || outcome.truncated)
          envs.begin_another(i, step.value(), outcome.truncated, row, some, seen);
      envs.store_some(i, some);
    } else {  // as if all were well, so that nothing waits for the sum
      give(i, outcome);
      envs.store_some(i, some);
      if (!all_finite(sum)) [[unlikely]] {
        envs.lose(sum, some, outcome);
        give(i, outcome);
        store(envs.age + i, some.age);
      }
    }
    envs.store_seen(i, row, seen);
  }

 private:
  template <class Outcome>
  DRL_HD void give(int64_t i, const Outcome& outcome) const {
    store(row.reward + i, outcome.reward);
    store(row.terminated + i, outcome.terminated);
    store(row.truncated + i, outcome.truncated);
  }
};

// Another episode for those of 64 environments, first + 64 k and on, whose last one the step `row` ended; mostly none.
template <template <class> class Task>
struct BeginOthers {
  using Envs = Environments<Task>;
  Envs envs;
  StepRow row;
  LifetimeStep step;
  int64_t first, last;
  DRL_HD void operator()(int64_t k) const {
    const int64_t begin = first + kEnvs * k, end = last - begin < kEnvs ? last : begin + kEnvs;
    for (uint64_t left = ended(begin, end); left != 0; left &= left - 1) begin_another(begin + __builtin_ctzll(left));
  }
  static constexpr int64_t kEnvs = 64;

 private:
  DRL_HD void begin_another(int64_t i) const {
    typename Envs::template Some<float> some;
    envs.load_some(i, some);
    typename Envs::template Seen<float> seen;  // as the step has left it in the row
    const int dim = envs.obs_dim();
    for (int o = 0; o < dim; ++o) seen.obs[o] = row.next_obs[i * dim + o];
    for (int o = 0; o < Envs::kCriticObs; ++o) seen.critic[o] = row.next_critic_obs[i * Envs::kCriticObs + o];
    envs.begin_another(i, step.value(), row.truncated[i] != 0, row, some, seen);
    envs.store_seen(i, row, seen);
    envs.store_some(i, some);
  }

  // Bit l: whether the last episode of environment begin + l has ended.
  DRL_HD uint64_t ended(int64_t begin, int64_t end) const {
    uint64_t bits = 0;
    if (end - begin < kEnvs) {
      for (int64_t i = begin; i < end; ++i)
        bits |= static_cast<uint64_t>(row.terminated[i] | row.truncated[i]) << (i - begin);
      return bits;
    }
    uint64_t flags[kEnvs / 8], any = 0;  // eight each, a byte is 0 or 1
    for (int w = 0; w < kEnvs / 8; ++w) {
      flags[w] = eight(row.terminated + begin + 8 * w) | eight(row.truncated + begin + 8 * w);
      any |= flags[w];
    }
    if (any == 0) return 0;
    // The product's highest byte collects a word's bits. Not one loop for each word: most of their ends are guessed
    // wrong.
    for (int w = 0; w < kEnvs / 8; ++w) bits |= flags[w] * 0x0102040810204080u >> 56 << 8 * w;
    return bits;
  }
  DRL_HD static uint64_t eight(const uint8_t* from) {
    uint64_t word;
    __builtin_memcpy(&word, from, 8);
    return word;
  }
};

}  // namespace drl
