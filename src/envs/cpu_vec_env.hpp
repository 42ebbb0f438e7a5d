// The CPU executor of our tasks: every member of the task's State is an array over the environments, and one vectorised
// loop steps them all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/philox.hpp"
#include "base/simd.hpp"
#include "envs/make_env.hpp"
#include "envs/vec_env.hpp"
#include "tasks/task.hpp"

namespace drl {

// Environment k has the global index config.first_global_index + k. For given actions its trajectory is a function of
// (config.seed, global index) only. step() allocates nothing.
template <template <class> class TaskTemplate>
class CpuVecEnv final : public VecEnv {
 public:
  using Task = TaskTemplate<float>;
  static_assert(TaskOf<Task, float> && TaskOf<TaskTemplate<double>, double>);

  explicit CpuVecEnv(const EnvConfig& config);
  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return config_.num_envs; }
  void reset(const StepRow& row) override;
  void step(int64_t step, const StepRow& row) override;
  EpisodeSums take_episode_sums() override { return std::exchange(sums_, no_episodes()); }
  void visit_state(StateVisitor& visitor) override;

 private:
  using State = typename Task::State;
  using Action = std::conditional_t<Task::action.discrete, int32_t, float>;
  static constexpr int kFields = std::size(Task::fields), kObs = Task::obs_dim, kActions = Task::action.size;
  static constexpr int kTerms = reward_term_count<Task>();
  static constexpr int64_t kBlock = 128;  // environments per round: its observations stay in the first-level cache
  static constexpr typename Task::Params kParams{};
  using BlockObs = float[kObs][kBlock];

  struct Block;
  static void advance_one(const Block& block, int64_t i);
  void advance(int64_t begin, int64_t count, const StepRow& row, BlockObs& obs);
  void finish_episodes(int64_t begin, int64_t count, int64_t step, const StepRow& row);
  void count_episode(int64_t k);
  void start_episode(int64_t k, uint64_t draw, const StepRow& row);
  static void write_rows(const BlockObs& obs, int64_t count, float* rows);
  static EpisodeSums no_episodes() { return {0, 0, 0, 0, std::vector<double>(kTerms)}; }

  EnvConfig config_;
  TaskSpec spec_;
  std::array<std::vector<float>, kFields> state_;  // [kFields][N]
  std::vector<int32_t> age_;                       // [N] steps in this episode
  std::vector<float> episode_reward_;              // [N]
  std::array<std::vector<float>, kTerms> terms_;   // [kTerms][N] sums over this episode
  std::vector<uint8_t> stale_;                     // [N] 1: the episode began at a random age and does not count
  EpisodeSums sums_;
};

template <template <class> class TaskTemplate>
CpuVecEnv<TaskTemplate>::CpuVecEnv(const EnvConfig& config)
    : config_(config), spec_(make_spec<Task>()), sums_(no_episodes()) {
  DRL_CHECK(config.num_envs > 0 && config.first_global_index >= 0, "environments [first, first + num) must exist");
  const auto n = static_cast<size_t>(config.num_envs);
  for (auto& field : state_) field.resize(n);
  for (auto& term : terms_) term.resize(n);
  age_.resize(n);
  episode_reward_.resize(n);
  stale_.resize(n);
}

template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::reset(const StepRow& row) {
  sums_ = no_episodes();
  for (int64_t k = 0; k < config_.num_envs; ++k) {
    start_episode(k, 0, row);
    if (!config_.random_start_ages) continue;
    const auto index = static_cast<uint64_t>(config_.first_global_index + k);
    const float age = uniform01(random_bits(config_.seed, Purpose::start_age, index, 0)[0]) * Task::step_limit;
    age_[k] = static_cast<int32_t>(age);
    stale_[k] = 1;
  }
}

template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::step(int64_t step, const StepRow& row) {
  alignas(64) BlockObs obs;
  for (int64_t begin = 0; begin < config_.num_envs; begin += kBlock) {
    const int64_t count = std::min(kBlock, config_.num_envs - begin);
    advance(begin, count, row, obs);
    write_rows(obs, count, row.next_obs + begin * kObs);
    finish_episodes(begin, count, step, row);
  }
}

// What a step of environments begin to begin + count reads and writes.
template <template <class> class TaskTemplate>
struct CpuVecEnv<TaskTemplate>::Block {
  DRL_HD Block(CpuVecEnv& env, int64_t begin, const StepRow& row, BlockObs& block_obs)
      : actions(static_cast<const Action*>(row.action) + begin * kActions),
        age(env.age_.data() + begin),
        episode_reward(env.episode_reward_.data() + begin),
        obs(block_obs),
        reward(row.reward + begin),
        terminated(row.terminated + begin),
        truncated(row.truncated + begin) {
    for (int f = 0; f < kFields; ++f) state[f] = env.state_[f].data() + begin;
    for (int t = 0; t < kTerms; ++t) terms[t] = env.terms_[t].data() + begin;
  }

  const Action* actions;
  float *state[kFields], *terms[kTerms + 1];
  int32_t* age;
  float* episode_reward;
  BlockObs& obs;
  float* reward;
  uint8_t *terminated, *truncated;
};

// The step of one environment: all but resets, and observations go to block.obs.
template <template <class> class TaskTemplate>
DRL_HD void CpuVecEnv<TaskTemplate>::advance_one(const Block& block, int64_t i) {
  State s;
  float action[kActions], obs[kObs];
  for (int f = 0; f < kFields; ++f) s.*Task::fields[f].member = block.state[f][i];
  for (int a = 0; a < kActions; ++a) action[a] = static_cast<float>(block.actions[i * kActions + a]);
  const auto result = Task::step(s, action, kParams);
  Task::observe(s, obs);
  const int32_t age = block.age[i] + 1;
  for (int f = 0; f < kFields; ++f) block.state[f][i] = s.*Task::fields[f].member;
  for (int o = 0; o < kObs; ++o) block.obs[o][i] = obs[o];
  if constexpr (kTerms > 0) {
    for (int t = 0; t < kTerms; ++t) block.terms[t][i] += result.terms[t];
  }
  block.reward[i] = result.reward;
  block.episode_reward[i] += result.reward;
  block.age[i] = age;
  block.terminated[i] = result.terminated;
  block.truncated[i] = (age >= Task::step_limit) & ~result.terminated;
}

template <template <class> class TaskTemplate>
DRL_CLONES void CpuVecEnv<TaskTemplate>::advance(int64_t begin, int64_t count, const StepRow& row, BlockObs& obs) {
  const Block block(*this, begin, row, obs);
  DRL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) advance_one(block, i);
}

template <template <class> class TaskTemplate>
DRL_CLONES void CpuVecEnv<TaskTemplate>::write_rows(const BlockObs& obs, int64_t count, float* rows) {
  for (int64_t i = 0; i < count; ++i) {
    for (int o = 0; o < kObs; ++o) rows[i * kObs + o] = obs[o][i];
  }
}

template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::finish_episodes(int64_t begin, int64_t count, int64_t step, const StepRow& row) {
  for (int64_t k = begin; k < begin + count; ++k) {
    if (!(row.terminated[k] | row.truncated[k])) continue;
    std::copy_n(row.next_obs + k * kObs, kObs, row.final_obs + k * kObs);
    if (!stale_[k]) count_episode(k);
    start_episode(k, static_cast<uint64_t>(step) + 1, row);
  }
}

template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::count_episode(int64_t k) {
  const double reward = episode_reward_[k];
  sums_.count += 1;
  sums_.reward += reward;
  sums_.reward_squared += reward * reward;
  sums_.length += age_[k];
  for (int t = 0; t < kTerms; ++t) sums_.terms[t] += double{terms_[t][k]};
}

// `draw` keys the random numbers: 0 for the first episode, the lifetime step + 1 after the step that ended another.
template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::start_episode(int64_t k, uint64_t draw, const StepRow& row) {
  State s;
  Draws<float> draws(config_.seed, static_cast<uint64_t>(config_.first_global_index + k), draw);
  Task::reset(s, draws, kParams);
  Task::observe(s, row.next_obs + k * kObs);
  for (int f = 0; f < kFields; ++f) state_[f][k] = s.*Task::fields[f].member;
  for (int t = 0; t < kTerms; ++t) terms_[t][k] = 0;
  age_[k] = 0;
  episode_reward_[k] = 0;
  stale_[k] = 0;
}

// Sums over finished episodes are no state: they are taken before a checkpoint.
template <template <class> class TaskTemplate>
void CpuVecEnv<TaskTemplate>::visit_state(StateVisitor& visitor) {
  const auto per_env = [&](const std::string& name, auto& array) {
    visitor.array("env/" + name, array.data(), {config_.num_envs}, Sharding::per_env);
  };
  for (int f = 0; f < kFields; ++f) per_env(std::string("state/") + Task::fields[f].name, state_[f]);
  per_env("age", age_);
  per_env("episode_reward", episode_reward_);
  for (int t = 0; t < kTerms; ++t) per_env("reward_terms/" + spec_.reward_terms[t], terms_[t]);
  per_env("stale", stale_);
}

}  // namespace drl
