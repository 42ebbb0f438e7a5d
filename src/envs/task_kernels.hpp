// What our tasks do to all their environments, as function objects: one source for the lanes of a CPU and for a GPU.
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "drl/task.hpp"
#include "envs/step_row.hpp"

namespace drl {

// All environments' state, in the memory of a queue.
template <template <class> class Task>
struct Environments {
  using Spec = Task<float>;
  using Action = std::conditional_t<Spec::action.discrete, int32_t, float>;
  static constexpr int kFields = std::size(Spec::fields), kObs = Spec::obs_dim, kActions = Spec::action.size;
  static constexpr int kTerms = reward_term_count<Spec>(), kSums = 3 + kTerms;

  int64_t n;
  uint64_t seed;
  int64_t first_global_index;
  float* state[kFields];     // [n] each
  int32_t* age;              // [n] steps in this episode
  float* episode_reward;     // [n]
  float* terms[kTerms + 1];  // [n] each, sums over this episode
  uint8_t* stale;            // [n] 1: the episode began at a random age and does not count
  double* sums;              // [n, kSums] of each environment's ended episodes, since they were last taken

  // The environments of F's lanes, in registers.
  template <class F>
  struct Some {
    typename Task<F>::State state;
    Int<F> age;
    F episode_reward;
    F terms[kTerms + 1];
  };

  template <class F>
  DRL_HD Some<F> load_some(int64_t i) const {
    Some<F> some;
    each_field<F>([&](int f, auto member) DRL_LAMBDA { some.state.*member = load<F>(state[f] + i); });
    some.age = load<Int<F>>(age + i);
    some.episode_reward = load<F>(episode_reward + i);
    for (int t = 0; t < kTerms; ++t) some.terms[t] = load<F>(terms[t] + i);
    return some;
  }
  template <class F>
  DRL_HD void store_some(int64_t i, const Some<F>& some) const {
    each_field<F>([&](int f, auto member) DRL_LAMBDA { store(state[f] + i, some.state.*member); });
    store(age + i, some.age);
    store(episode_reward + i, some.episode_reward);
    for (int t = 0; t < kTerms; ++t) store(terms[t] + i, some.terms[t]);
  }

  // Begins the masked lanes' episodes. `draw` keys the random numbers: 0 for an environment's first episode, the
  // lifetime step + 1 after the step that ended another.
  template <class F>
  DRL_HD void start_episodes(int64_t i, Mask<F> mask, uint64_t draw, Some<F>& some) const {
    constexpr typename Task<F>::Params params{};
    Draws<F> draws(seed, static_cast<uint64_t>(first_global_index + i), draw);
    typename Task<F>::State fresh;
    Task<F>::reset(fresh, draws, params);
    each_field<F>([&](int, auto member)
                      DRL_LAMBDA { some.state.*member = math::select(mask, fresh.*member, some.state.*member); });
    some.age = math::select(mask, Int<F>(0), some.age);
    some.episode_reward = math::select(mask, F(0), some.episode_reward);
    for (int t = 0; t < kTerms; ++t) some.terms[t] = math::select(mask, F(0), some.terms[t]);
  }

  // Adds lane l's episode to the sums of environment i + l, unless it began at a random age.
  template <class F>
  DRL_HD void count_ended(const Some<F>& some, int64_t i, int l) const {
    double* own = sums + (i + l) * kSums;
    if (!stale[i + l]) {
      own[0] += 1;
      own[1] += static_cast<double>(lane(some.episode_reward, l));
      own[2] += lane(some.age, l);
      for (int t = 0; t < kTerms; ++t) own[3 + t] += static_cast<double>(lane(some.terms[t], l));
    }
    stale[i + l] = 0;
  }

  template <class F>
  struct Outcome {
    F reward;
    Mask<F> terminated, truncated;
  };
  // A step of the lanes in `some`, after which obs [kObs] is seen. Those whose episode it ends do not begin another
  // yet.
  template <class F>
  DRL_HD Outcome<F> advance(Some<F>& some, const F* action, F* obs) const {
    constexpr typename Task<F>::Params params{};
    const auto result = Task<F>::step(some.state, action, params);
    Task<F>::observe(some.state, obs);
    some.age = some.age + Int<F>(1);
    some.episode_reward += result.reward;
    for (int t = 0; t < kTerms; ++t) some.terms[t] += result.terms[t];
    Mask<F> truncated = result.truncated;
    if constexpr (Spec::step_limit > 0) truncated = truncated | (some.age >= Int<F>(Spec::step_limit));
    truncated = truncated & !result.terminated;
    return {result.reward, result.terminated, truncated};
  }

  // Environment i, which is in `some`, begins another episode after the step `step`: obs [kObs] was the last one's last
  // observation, and becomes the new one's first.
  DRL_HD void begin_another(int64_t i, uint64_t step, bool truncated, const StepRow& row, Some<float>& some,
                            float* obs) const {
#if !defined(__CUDA_ARCH__)
    __builtin_prefetch(sums + i * kSums, 1);  // far away, since it is seldom touched
#endif
    const int64_t at = row.take_last_row(i, n, truncated);
    for (int o = 0; o < kObs && at >= 0; ++o) row.last_obs[at * kObs + o] = obs[o];
    Some<float> another{};
    start_episodes<float>(i, true, step + 1, another);
    Task<float>::observe(another.state, obs);
    count_ended(some, i, 0);
    some = another;
  }

 private:
  // Calls visit(f, pointer to member) for the fields of a task's State, which device code must know when it is
  // compiled.
  template <class F, class Visit>
  DRL_HD static void each_field(Visit&& visit) {
    each_of<F>(visit, std::make_integer_sequence<int, kFields>{});
  }
  template <class F, class Visit, int... f>
  DRL_HD static void each_of(Visit&& visit, std::integer_sequence<int, f...>) {
    (visit(f, Task<F>::fields[f].member), ...);
  }
};

template <template <class> class Task>
struct ResetAll {
  Environments<Task> envs;
  StepRow row;
  bool random_start_ages;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    for (int l = 0; l < kLanesOf<F>; ++l) {
      for (int c = 0; c < Envs::kSums; ++c) envs.sums[(i + l) * Envs::kSums + c] = 0;
      envs.stale[i + l] = random_start_ages;
    }
    typename Envs::template Some<F> some{};
    envs.template start_episodes<F>(i, F(0) == F(0), 0, some);
    F obs[Envs::kObs];
    Task<F>::observe(some.state, obs);
    store_rows<Envs::kObs>(row.next_obs + i * Envs::kObs, obs);
    if (random_start_ages) {
      const auto index = static_cast<uint64_t>(envs.first_global_index + i);
      const F share = uniform01(random_bits<Bits<F>>(envs.seed, Purpose::start_age, index, 0)[0]);
      some.age = convert<Int<F>>(share * F(Task<float>::step_limit));
    }
    envs.store_some(i, some);
  }
};

// A step of all environments. On a GPU those whose episode it ends begin another at once; on a CPU that is left to
// BeginOthers, since packs that are stepped without a branch overlap each other.
template <template <class> class Task>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  LifetimeStep step;
  bool begins_others;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    const auto* actions = static_cast<const typename Envs::Action*>(row.action) + i * Envs::kActions;
    F action[Envs::kActions], obs[Envs::kObs];
    if constexpr (Envs::kActions == 1) {
      action[0] = load<F>(actions);
    } else {
      for (int a = 0; a < Envs::kActions; ++a) action[a] = load_strided<F>(actions + a, Envs::kActions);
    }
    auto some = envs.template load_some<F>(i);
    const auto outcome = envs.advance(some, action, obs);
    store(row.reward + i, outcome.reward);
    store(row.terminated + i, outcome.terminated);
    store(row.truncated + i, outcome.truncated);
    if constexpr (std::is_same_v<F, float>)
      if (begins_others && (outcome.terminated || outcome.truncated))
        envs.begin_another(i, step.value(), outcome.truncated, row, some, obs);
    store_rows<Envs::kObs>(row.next_obs + i * Envs::kObs, obs);
    envs.store_some(i, some);
  }
};

// Another episode for those of eight environments, first + 8 k and on, whose last one the step `row` ended.
template <template <class> class Task>
struct BeginOthers {
  Environments<Task> envs;
  StepRow row;
  LifetimeStep step;
  int64_t first, last;
  DRL_HD void operator()(int64_t k) const {
    const int64_t begin = first + 8 * k, count = last - begin < 8 ? last - begin : 8;
    for (uint64_t left = flags(row.terminated + begin, count) | flags(row.truncated + begin, count); left != 0;
         left &= left - 1) {
      const int64_t i = begin + __builtin_ctzll(left) / 8;
      auto some = envs.template load_some<float>(i);
      envs.begin_another(i, step.value(), row.truncated[i] != 0, row, some,
                         row.next_obs + i * Environments<Task>::kObs);
      envs.store_some(i, some);
    }
  }

 private:
  // Bit 8 l of the result is flag l.
  DRL_HD static uint64_t flags(const uint8_t* from, int64_t count) {
    uint64_t bits = 0;
    if (count == 8) {
      __builtin_memcpy(&bits, from, 8);
    } else {
      for (int64_t l = 0; l < count; ++l) bits |= static_cast<uint64_t>(from[l]) << 8 * l;
    }
    return bits;
  }
};

// Episodes' sums, environment by environment.
struct LoadEpisodes {
  const double* sums;  // [n, columns]
  int64_t columns;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    return load_strided<Wide<F>>(sums + row * columns + column, columns);
  }
};

// For benchmarks: `steps` steps of each environment, which stays in registers. Actions are uniform, of
// random_bits(seed, Purpose::benchmark, global index, step). No rows are written; checksum [n] becomes the sum of all
// rewards and observations, last ones included, so that the compiler cannot leave any out.
template <template <class> class Task>
struct StepRandomly {
  Environments<Task> envs;
  int choices;
  uint64_t first_step, steps;
  float* checksum;

  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    auto some = envs.template load_some<F>(i);
    F sum = F(0), action[Envs::kActions], obs[Envs::kObs];
    for (uint64_t step = first_step; step != first_step + steps; ++step) {
      draw<F>(i, step, action);
      const auto outcome = envs.advance(some, action, obs);
      sum += outcome.reward;
      const Mask<F> ended = outcome.terminated | outcome.truncated;
      if (any(ended)) {
        for (int o = 0; o < Envs::kObs; ++o) sum += math::select(ended, obs[o], F(0));
        for (uint32_t left = lane_bits(ended); left != 0; left &= left - 1) envs.count_ended(some, i, lowest_bit(left));
        envs.template start_episodes<F>(i, ended, step + 1, some);
        Task<F>::observe(some.state, obs);
      }
      for (int o = 0; o < Envs::kObs; ++o) sum += obs[o];
    }
    envs.store_some(i, some);
    store(checksum + i, sum);
  }

 private:
  template <class F>
  DRL_HD void draw(int64_t i, uint64_t step, F* action) const {
    using Spec = Task<float>;
    const auto index = static_cast<uint64_t>(envs.first_global_index + i);
    Words4Of<Bits<F>> bits{};
    for (int a = 0; a < Environments<Task>::kActions; ++a) {
      if (a % 4 == 0)
        bits = random_bits<Bits<F>>(envs.seed, Purpose::benchmark, index, step, static_cast<uint32_t>(a / 4));
      const F uniform = uniform01(bits[a % 4]);
      if constexpr (Spec::action.discrete) {
        action[a] = math::floor(uniform * F(static_cast<float>(choices)));
      } else {
        action[a] = F(Spec::action.low) + F(Spec::action.high - Spec::action.low) * uniform;
      }
    }
  }
};

// The loops of a task, in a unit of device/hot_loop.hpp.
#define DRL_TASK_LOOPS(Task) \
  DRL_LOOP(ResetAll<Task>) DRL_LOOP(StepAll<Task>) DRL_HOST_LOOP(BeginOthers<Task>) DRL_LOOP(StepRandomly<Task>)

}  // namespace drl
