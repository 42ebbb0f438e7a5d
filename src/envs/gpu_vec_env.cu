// One thread an environment. Compiled by nvcc, and for tests by the host's compiler.
#include <array>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "base/philox.hpp"
#include "envs/gpu_vec_env.hpp"
#include "gpu/for_each.hpp"
#include "gpu/reduce.hpp"
#include "tasks/list.hpp"
#include "tasks/task.hpp"

namespace drl {
namespace {

// All environments' state as device pointers, and what one step does to one of them.
template <class Task>
struct Environments {
  using State = typename Task::State;
  using Action = std::conditional_t<Task::action.discrete, int32_t, float>;
  static constexpr int kFields = std::size(Task::fields), kObs = Task::obs_dim, kActions = Task::action.size;
  static constexpr int kTerms = reward_term_count<Task>(), kSums = 4 + kTerms;

  int64_t n;
  uint64_t seed;
  int64_t first_global_index;
  float* state[kFields];     // [n] each
  int32_t* age;              // [n] steps in this episode
  float* episode_reward;     // [n]
  float* terms[kTerms + 1];  // [n] each, sums over this episode
  uint8_t* stale;            // [n] 1: the episode began at a random age and does not count
  double* sums;              // [kSums, n] of the environment's ended episodes, since they were last taken

  DRL_HD void step_one(int64_t i, uint64_t step, const StepRow& row) const {
    const typename Task::Params params{};
    State s = load(i);
    float action[kActions], obs[kObs];
    for (int a = 0; a < kActions; ++a)
      action[a] = static_cast<float>(static_cast<const Action*>(row.action)[i * kActions + a]);
    const auto result = Task::step(s, action, params);
    Task::observe(s, obs);
    const int32_t new_age = age[i] + 1;
    const bool terminated = result.terminated != 0, truncated = new_age >= Task::step_limit && !terminated;
    row.reward[i] = result.reward;
    row.terminated[i] = terminated;
    row.truncated[i] = truncated;
    age[i] = new_age;
    episode_reward[i] += result.reward;
    if constexpr (kTerms > 0) {
      for (int t = 0; t < kTerms; ++t) terms[t][i] += result.terms[t];
    }
    if (!terminated && !truncated) {
      store(i, s);
      for (int o = 0; o < kObs; ++o) row.next_obs[i * kObs + o] = obs[o];
      return;
    }
    for (int o = 0; o < kObs; ++o) row.final_obs[i * kObs + o] = obs[o];
    if (!stale[i]) count_episode(i);
    start_episode(i, step + 1, row);
  }

  // `draw` keys the random numbers: 0 for the first episode, the lifetime step + 1 after the step that ended another.
  DRL_HD void start_episode(int64_t i, uint64_t draw, const StepRow& row) const {
    const typename Task::Params params{};
    State s;
    Draws<float> draws(seed, static_cast<uint64_t>(first_global_index + i), draw);
    Task::reset(s, draws, params);
    float obs[kObs];
    Task::observe(s, obs);
    for (int o = 0; o < kObs; ++o) row.next_obs[i * kObs + o] = obs[o];
    store(i, s);
    for (int t = 0; t < kTerms; ++t) terms[t][i] = 0;
    age[i] = 0;
    episode_reward[i] = 0;
    stale[i] = 0;
  }

 private:
  DRL_HD void count_episode(int64_t i) const {
    const double reward = episode_reward[i];
    sums[0 * n + i] += 1;
    sums[1 * n + i] += reward;
    sums[2 * n + i] += reward * reward;
    sums[3 * n + i] += age[i];
    for (int t = 0; t < kTerms; ++t) sums[(4 + t) * n + i] += static_cast<double>(terms[t][i]);
  }

  // Members of a task's State by their place in its list, which device code must know when it is compiled.
  template <int f>
  DRL_HD static float& member(State& s) {
    constexpr auto pointer = Task::fields[f].member;
    return s.*pointer;
  }
  template <int... f>
  DRL_HD void load_fields(int64_t i, State& s, std::integer_sequence<int, f...>) const {
    ((member<f>(s) = state[f][i]), ...);
  }
  template <int... f>
  DRL_HD void store_fields(int64_t i, State& s, std::integer_sequence<int, f...>) const {
    ((state[f][i] = member<f>(s)), ...);
  }
  DRL_HD State load(int64_t i) const {
    State s;
    load_fields(i, s, std::make_integer_sequence<int, kFields>{});
    return s;
  }
  DRL_HD void store(int64_t i, State& s) const { store_fields(i, s, std::make_integer_sequence<int, kFields>{}); }
};

template <class Task>
struct ResetAll {
  Environments<Task> envs;
  StepRow row;
  bool random_start_ages;
  DRL_HD void operator()(int64_t i) const {
    for (int c = 0; c < Environments<Task>::kSums; ++c) envs.sums[c * envs.n + i] = 0;
    envs.start_episode(i, 0, row);
    if (!random_start_ages) return;
    const auto index = static_cast<uint64_t>(envs.first_global_index + i);
    const float age = uniform01(random_bits(envs.seed, Purpose::start_age, index, 0)[0]) * Task::step_limit;
    envs.age[i] = static_cast<int32_t>(age);
    envs.stale[i] = 1;
  }
};

template <class Task>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  const int64_t* first_step;
  int64_t offset;
  DRL_HD void operator()(int64_t i) const { envs.step_one(i, static_cast<uint64_t>(*first_step + offset), row); }
};

struct LoadEpisodes {
  const double* sums;
  int64_t n;
  DRL_HD double operator()(int64_t row, int column) const { return sums[column * n + row]; }
};

template <template <class> class TaskTemplate>
class TaskEnvs final : public GpuVecEnv {
 public:
  using Task = TaskTemplate<float>;
  using Envs = Environments<Task>;

  TaskEnvs(const EnvConfig& config, const gpu::Stream& stream)
      : config_(config),
        spec_(make_spec<Task>()),
        age_(size(), stream),
        episode_reward_(size(), stream),
        stale_(size(), stream),
        sums_(size() * Envs::kSums, stream) {
    DRL_CHECK(config.num_envs > 0 && config.first_global_index >= 0, "environments [first, first + num) must exist");
    for (auto& field : state_) field = gpu::Array<float>(size(), stream);
    for (auto& term : terms_) term = gpu::Array<float>(size(), stream);
    envs_ = {config.num_envs, config.seed, config.first_global_index, {}, age_.data(), episode_reward_.data(), {},
             stale_.data(),   sums_.data()};
    for (int f = 0; f < Envs::kFields; ++f) envs_.state[f] = state_[f].data();
    for (int t = 0; t < Envs::kTerms; ++t) envs_.terms[t] = terms_[t].data();
  }

  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return config_.num_envs; }
  void reset(const StepRow& row, const gpu::Stream& stream) override {
    gpu::for_each(stream, config_.num_envs, ResetAll<Task>{envs_, row, config_.random_start_ages});
  }
  void step(const int64_t* first_step, int64_t offset, const StepRow& row, const gpu::Stream& stream) override {
    gpu::for_each(stream, config_.num_envs, StepAll<Task>{envs_, row, first_step, offset});
  }
  int episode_columns() const override { return Envs::kSums; }
  void take_episode_sums(double* out, double* scratch, const gpu::Stream& stream) override {
    gpu::sum_columns(stream, config_.num_envs, Envs::kSums, scratch, LoadEpisodes{sums_.data(), config_.num_envs},
                     gpu::StoreTo<double>{out});
    DRL_GPU(gpuMemsetAsync(sums_.data(), 0, sums_.size() * sizeof(double), stream.get()));
  }
  void mirror_state(gpu::StateMirror& mirror) override {
    const auto per_env = [&](auto& array) { return mirror.add(array.data(), array.size(), Sharding::per_env); };
    for (int f = 0; f < Envs::kFields; ++f) host_.state[f] = per_env(state_[f]);
    for (int t = 0; t < Envs::kTerms; ++t) host_.terms[t] = per_env(terms_[t]);
    host_.age = per_env(age_);
    host_.episode_reward = per_env(episode_reward_);
    host_.stale = per_env(stale_);
  }
  // Sums over finished episodes are no state: they are taken before a checkpoint.
  void visit_state(StateVisitor& visitor) override {
    const auto per_env = [&](const std::string& name, auto* array) {
      visitor.array("env/" + name, array, {config_.num_envs}, Sharding::per_env);
    };
    for (int f = 0; f < Envs::kFields; ++f) per_env(std::string("state/") + Task::fields[f].name, host_.state[f]);
    per_env("age", host_.age);
    per_env("episode_reward", host_.episode_reward);
    for (int t = 0; t < Envs::kTerms; ++t) per_env("reward_terms/" + spec_.reward_terms[t], host_.terms[t]);
    per_env("stale", host_.stale);
  }

 private:
  size_t size() const { return static_cast<size_t>(config_.num_envs); }

  EnvConfig config_;
  TaskSpec spec_;
  std::array<gpu::Array<float>, Envs::kFields> state_;
  std::array<gpu::Array<float>, Envs::kTerms> terms_;
  gpu::Array<int32_t> age_;
  gpu::Array<float> episode_reward_;
  gpu::Array<uint8_t> stale_;
  gpu::Array<double> sums_;
  Envs envs_{}, host_{};
};

template <template <class> class... Tasks>
std::unique_ptr<GpuVecEnv> make(TaskList<Tasks...>, std::string_view task, const EnvConfig& config,
                                const gpu::Stream& stream) {
  std::unique_ptr<GpuVecEnv> env;
  (void)((task == Tasks<float>::name && (env = std::make_unique<TaskEnvs<Tasks>>(config, stream))) || ...);
  return env;
}

}  // namespace

std::unique_ptr<GpuVecEnv> make_gpu_env(std::string_view task, const EnvConfig& config, const gpu::Stream& stream) {
  (void)task_spec(task);  // throws for an unknown one
  return make(AllTasks{}, task, config, stream);
}

}  // namespace drl
