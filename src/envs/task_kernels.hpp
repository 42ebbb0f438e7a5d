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
  double* sums;              // [kSums, n] of the environment's ended episodes, since they were last taken

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

  // Adds lane l's episode to sums[c * stride] of each column c.
  template <class F>
  DRL_HD static void count_episode(const Some<F>& some, int l, double* sums, int64_t stride) {
    sums[0 * stride] += 1;
    sums[1 * stride] += static_cast<double>(lane(some.episode_reward, l));
    sums[2 * stride] += lane(some.age, l);
    for (int t = 0; t < kTerms; ++t) sums[(3 + t) * stride] += static_cast<double>(lane(some.terms[t], l));
  }

  // The same to environment i + l's own sums, unless its episode began at a random age.
  template <class F>
  DRL_HD void count_ended(const Some<F>& some, int64_t i, int l) const {
    if (!stale[i + l]) count_episode(some, l, sums + i + l, n);
    stale[i + l] = 0;
  }

  // The step of the lanes from environment i on, which are in `some`. `out` is told what comes of it.
  template <class F, class Out>
  DRL_HD void advance(int64_t i, Some<F>& some, uint64_t step, const F* action, Out& out) const {
    constexpr typename Task<F>::Params params{};
    const auto result = Task<F>::step(some.state, action, params);
    F obs[kObs];
    Task<F>::observe(some.state, obs);
    some.age = some.age + Int<F>(1);
    some.episode_reward += result.reward;
    for (int t = 0; t < kTerms; ++t) some.terms[t] += result.terms[t];
    Mask<F> truncated = result.truncated;
    if constexpr (Spec::step_limit > 0) truncated = truncated | (some.age >= Int<F>(Spec::step_limit));
    truncated = truncated & !result.terminated;
    out.result(result.reward, result.terminated, truncated);
    const Mask<F> ended = result.terminated | truncated;
    if (any(ended)) [[unlikely]] {
      out.episode_ends(some, obs, ended, truncated);
      start_episodes<F>(i, ended, step + 1, some);
      Task<F>::observe(some.state, obs);
    }
    out.next_obs(obs);
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

// What a step gives, written into rows.
template <template <class> class Task, class F>
struct RowWriter {
  using Envs = Environments<Task>;
  const Envs& envs;
  const StepRow& row;
  int64_t i;

  DRL_HD void result(F reward, Mask<F> terminated, Mask<F> truncated) const {
    store(row.reward + i, reward);
    store(row.terminated + i, terminated);
    store(row.truncated + i, truncated);
  }
  DRL_HD void episode_ends(const typename Envs::template Some<F>& some, const F* obs, Mask<F> ended,
                           Mask<F> truncated) const {
    for (uint32_t left = lane_bits(ended); left != 0; left &= left - 1) {
      const int l = lowest_bit(left);
      const int64_t at = row.take_last_row(i + l, envs.n, (lane_bits(truncated) >> l & 1) != 0);
      for (int o = 0; o < Envs::kObs && at >= 0; ++o) row.last_obs[at * Envs::kObs + o] = lane(obs[o], l);
      envs.count_ended(some, i, l);
    }
  }
  DRL_HD void next_obs(const F* obs) const { store_rows<Envs::kObs>(row.next_obs + i * Envs::kObs, obs); }
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
      for (int c = 0; c < Envs::kSums; ++c) envs.sums[c * envs.n + i + l] = 0;
      envs.stale[i + l] = random_start_ages;
    }
    typename Envs::template Some<F> some{};
    envs.template start_episodes<F>(i, F(0) == F(0), 0, some);
    F obs[Envs::kObs];
    Task<F>::observe(some.state, obs);
    RowWriter<Task, F>{envs, row, i}.next_obs(obs);
    if (random_start_ages) {
      const auto index = static_cast<uint64_t>(envs.first_global_index + i);
      const F share = uniform01(random_bits<Bits<F>>(envs.seed, Purpose::start_age, index, 0)[0]);
      some.age = convert<Int<F>>(share * F(Task<float>::step_limit));
    }
    envs.store_some(i, some);
  }
};

template <template <class> class Task>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  LifetimeStep step;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using Envs = Environments<Task>;
    const auto* actions = static_cast<const typename Envs::Action*>(row.action) + i * Envs::kActions;
    F action[Envs::kActions];
    if constexpr (Envs::kActions == 1) {
      action[0] = load<F>(actions);
    } else {
      for (int a = 0; a < Envs::kActions; ++a) action[a] = load_strided<F>(actions + a, Envs::kActions);
    }
    auto some = envs.template load_some<F>(i);
    RowWriter<Task, F> out{envs, row, i};
    envs.advance(i, some, step.value(), action, out);
    envs.store_some(i, some);
  }
};

// Episodes' sums, environment by environment.
struct LoadEpisodes {
  const double* sums;  // [columns, n]
  int64_t n;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    return load<Wide<F>>(sums + column * n + row);
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
    Checksum<F> out{envs, i, F(0)};
    for (uint64_t step = first_step; step != first_step + steps; ++step) {
      F action[Envs::kActions];
      draw<F>(i, step, action);
      envs.advance(i, some, step, action, out);
    }
    envs.store_some(i, some);
    store(checksum + i, out.sum);
  }

 private:
  template <class F>
  struct Checksum {
    const Environments<Task>& envs;
    int64_t i;
    F sum;
    DRL_HD void result(F reward, Mask<F>, Mask<F>) { sum += reward; }
    DRL_HD void episode_ends(const typename Environments<Task>::template Some<F>& some, const F* obs, Mask<F> ended,
                             Mask<F>) {
      for (int o = 0; o < Environments<Task>::kObs; ++o) sum += math::select(ended, obs[o], F(0));
      for (uint32_t left = lane_bits(ended); left != 0; left &= left - 1) envs.count_ended(some, i, lowest_bit(left));
    }
    DRL_HD void next_obs(const F* obs) {
      for (int o = 0; o < Environments<Task>::kObs; ++o) sum += obs[o];
    }
  };

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

}  // namespace drl
