// One thread an environment. Compiled by nvcc, and for tests by the host's compiler.
#include <array>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "drl/philox.hpp"
#include "envs/gpu_vec_env.hpp"
#include "gpu/for_each.hpp"
#include "gpu/reduce.hpp"
#include "tasks/list.hpp"
#include "drl/task.hpp"

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

  // One environment, in registers.
  struct One {
    State state;
    int32_t age;
    float episode_reward;
    float terms[kTerms + 1];
  };

  // The step of environment i, which is in `one`. `step` is the lifetime's. `out` is told what comes of it.
  template <class Out>
  DRL_HD void advance(int64_t i, One& one, uint64_t step, const float* action, Out& out) const {
    const typename Task::Params params{};
    const auto result = Task::step(one.state, action, params);
    float obs[kObs];
    Task::observe(one.state, obs);
    one.age += 1;
    one.episode_reward += result.reward;
    if constexpr (kTerms > 0) {
      for (int t = 0; t < kTerms; ++t) one.terms[t] += result.terms[t];
    }
    const bool terminated = result.terminated != 0, truncated = one.age >= Task::step_limit && !terminated;
    out.result(result.reward, terminated, truncated);
    if (terminated || truncated) {
      out.episode_end(one, obs);
      start_episode(i, one, step + 1);
      Task::observe(one.state, obs);
    }
    out.next_obs(obs);
  }

  // `draw` keys the random numbers: 0 for the first episode, the lifetime step + 1 after the step that ended another.
  DRL_HD void start_episode(int64_t i, One& one, uint64_t draw) const {
    const typename Task::Params params{};
    Draws<float> draws(seed, static_cast<uint64_t>(first_global_index + i), draw);
    Task::reset(one.state, draws, params);
    one.age = 0;
    one.episode_reward = 0;
    for (int t = 0; t < kTerms; ++t) one.terms[t] = 0;
  }

  DRL_HD One load(int64_t i) const {
    One one;
    load_fields(i, one.state, std::make_integer_sequence<int, kFields>{});
    one.age = age[i];
    one.episode_reward = episode_reward[i];
    for (int t = 0; t < kTerms; ++t) one.terms[t] = terms[t][i];
    return one;
  }
  DRL_HD void store(int64_t i, One& one) const {
    store_fields(i, one.state, std::make_integer_sequence<int, kFields>{});
    age[i] = one.age;
    episode_reward[i] = one.episode_reward;
    for (int t = 0; t < kTerms; ++t) terms[t][i] = one.terms[t];
  }

  // Adds an episode to sums[c * stride] of each column c.
  DRL_HD static void count_episode(const One& one, double* sums, int64_t stride) {
    const double reward = one.episode_reward;
    sums[0 * stride] += 1;
    sums[1 * stride] += reward;
    sums[2 * stride] += reward * reward;
    sums[3 * stride] += one.age;
    for (int t = 0; t < kTerms; ++t) sums[(4 + t) * stride] += static_cast<double>(one.terms[t]);
  }

 private:
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
};

// What a step of environment i gives, written into rows.
template <class Task>
struct RowWriter {
  using Envs = Environments<Task>;
  const Envs& envs;
  const StepRow& row;
  int64_t i;

  DRL_HD void result(float reward, bool terminated, bool truncated) {
    row.reward[i] = reward;
    row.terminated[i] = terminated;
    row.truncated[i] = truncated;
  }
  DRL_HD void episode_end(const typename Envs::One& one, const float* obs) {
    for (int o = 0; o < Envs::kObs; ++o) row.final_obs[i * Envs::kObs + o] = obs[o];
    if (!envs.stale[i]) Envs::count_episode(one, envs.sums + i, envs.n);
    envs.stale[i] = 0;
  }
  DRL_HD void next_obs(const float* obs) {
    for (int o = 0; o < Envs::kObs; ++o) row.next_obs[i * Envs::kObs + o] = obs[o];
  }
};

// The same added up, in registers.
template <class Task>
struct Adder {
  using Envs = Environments<Task>;
  float sum;
  bool stale;
  double sums[Envs::kSums];

  DRL_HD Adder(const Envs& envs, int64_t i) : sum(0), stale(envs.stale[i] != 0) {
    for (int c = 0; c < Envs::kSums; ++c) sums[c] = envs.sums[c * envs.n + i];
  }
  DRL_HD void store(const Envs& envs, int64_t i) const {
    envs.stale[i] = stale;
    for (int c = 0; c < Envs::kSums; ++c) envs.sums[c * envs.n + i] = sums[c];
  }
  DRL_HD void result(float reward, bool, bool) { sum += reward; }
  DRL_HD void episode_end(const typename Envs::One& one, const float* obs) {
    next_obs(obs);
    if (!stale) Envs::count_episode(one, sums, 1);
    stale = false;
  }
  DRL_HD void next_obs(const float* obs) {
    for (int o = 0; o < Envs::kObs; ++o) sum += obs[o];
  }
};

template <class Task>
struct ResetAll {
  Environments<Task> envs;
  StepRow row;
  bool random_start_ages;
  DRL_HD void operator()(int64_t i) const {
    using Envs = Environments<Task>;
    for (int c = 0; c < Envs::kSums; ++c) envs.sums[c * envs.n + i] = 0;
    typename Envs::One one;
    envs.start_episode(i, one, 0);
    float obs[Envs::kObs];
    Task::observe(one.state, obs);
    RowWriter<Task>{envs, row, i}.next_obs(obs);
    if (random_start_ages) {
      const auto index = static_cast<uint64_t>(envs.first_global_index + i);
      const float age = uniform01(random_bits(envs.seed, Purpose::start_age, index, 0)[0]) * Task::step_limit;
      one.age = static_cast<int32_t>(age);
    }
    envs.stale[i] = random_start_ages;
    envs.store(i, one);
  }
};

template <class Task>
struct StepAll {
  Environments<Task> envs;
  StepRow row;
  const int64_t* first_step;
  int64_t offset;
  DRL_HD void operator()(int64_t i) const {
    using Envs = Environments<Task>;
    float action[Envs::kActions];
    for (int a = 0; a < Envs::kActions; ++a)
      action[a] = static_cast<float>(static_cast<const typename Envs::Action*>(row.action)[i * Envs::kActions + a]);
    typename Envs::One one = envs.load(i);
    RowWriter<Task> out{envs, row, i};
    envs.advance(i, one, static_cast<uint64_t>(*first_step + offset), action, out);
    envs.store(i, one);
  }
};

// Many steps, with actions drawn here.
template <class Task>
struct StepRandomly {
  using Envs = Environments<Task>;
  Envs envs;
  int choices;  // of a discrete action
  uint64_t first_step, steps;
  float* checksum;

  DRL_HD void operator()(int64_t i) const {
    typename Envs::One one = envs.load(i);
    Adder<Task> out(envs, i);
    for (uint64_t step = first_step; step < first_step + steps; ++step) {
      float action[Envs::kActions];
      draw(i, step, action);
      envs.advance(i, one, step, action, out);
    }
    envs.store(i, one);
    out.store(envs, i);
    checksum[i] = out.sum;
  }

 private:
  DRL_HD void draw(int64_t i, uint64_t step, float* action) const {
    const auto index = static_cast<uint64_t>(envs.first_global_index + i);
    Words4 bits{};
    for (int a = 0; a < Envs::kActions; ++a) {
      if (a % 4 == 0) bits = random_bits(envs.seed, Purpose::benchmark, index, step, static_cast<uint32_t>(a / 4));
      const float uniform = uniform01(bits[a % 4]);
      if constexpr (Task::action.discrete) {
        action[a] = static_cast<float>(static_cast<int32_t>(uniform * static_cast<float>(choices)));
      } else {
        action[a] = Task::action.low + (Task::action.high - Task::action.low) * uniform;
      }
    }
  }
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
  void step_randomly(int64_t first_step, int64_t steps, float* checksum, const gpu::Stream& stream) override {
    gpu::for_each(stream, config_.num_envs,
                  StepRandomly<Task>{envs_, spec_.action.size, static_cast<uint64_t>(first_step),
                                     static_cast<uint64_t>(steps), checksum});
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
