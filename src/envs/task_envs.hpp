// The executor of our tasks: every member of a task's State is an array over the environments, and one loop over lanes
// steps them all.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/check.hpp"
#include "device/array.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"
#include "envs/task_kernels.hpp"
#include "envs/vec_env.hpp"

namespace drl {

// Environment k has the global index config.first_global_index + k. For given actions its trajectory is a function of
// (config.seed, global index) only. step() allocates nothing.
template <template <class> class Task>
class TaskEnvs final : public VecEnv {
 public:
  static_assert(TaskOf<Task<float>, float> && TaskOf<Task<double>, double>);

  TaskEnvs(const EnvConfig& config, Queue& queue)
      : config_(config),
        queue_(queue),
        spec_(make_spec<Task<float>>()),
        age_(queue, size()),
        episode_reward_(queue, size()),
        stale_(queue, size()),
        sums_(queue, size() * Envs::kSums) {
    DRL_CHECK(config.num_envs > 0 && config.first_global_index >= 0, "environments [first, first + num) must exist");
    envs_ = {config.num_envs, config.seed, config.first_global_index, {}, age_.data(), episode_reward_.data(), {},
             stale_.data(),   sums_.data()};
    for (int f = 0; f < Envs::kFields; ++f) envs_.state[f] = (state_[f] = Array<float>(queue, size())).data();
    for (int t = 0; t < Envs::kTerms; ++t) envs_.terms[t] = (terms_[t] = Array<float>(queue, size())).data();
  }

  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return config_.num_envs; }
  void reset(Queue& queue, const StepRow& row) override {
    for_each(queue, config_.num_envs, ResetAll<Task>{envs_, row, config_.random_start_ages});
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    for_each(queue, begin, begin + count, StepAll<Task>{envs_, row, step, queue.on_gpu()});
    if (!queue.on_gpu()) for_each(queue, (count + 7) / 8, BeginOthers<Task>{envs_, row, step, begin, begin + count});
  }
  void take_episode_sums(Queue& queue, double* out, double* scratch) override {
    sum_columns(queue, config_.num_envs, Envs::kSums, scratch, LoadEpisodes{sums_.data(), Envs::kSums}, StoreTo{out});
    queue.clear(sums_.data(), sums_.size());
  }
  // For benchmarks: see StepRandomly.
  void step_randomly(Queue& queue, int64_t first_step, int64_t steps, float* checksum) {
    for_each(queue, config_.num_envs,
             StepRandomly<Task>{envs_, spec_.action.size, static_cast<uint64_t>(first_step),
                                static_cast<uint64_t>(steps), checksum});
  }
  // Sums over finished episodes are no state: they are taken before a checkpoint.
  void visit_state(StateVisitor& visitor) override {
    const auto per_env = [&](const std::string& name, auto& array) {
      visitor.array("env/" + name, array.data(), {config_.num_envs}, Sharding::per_env, &queue_);
    };
    for (int f = 0; f < Envs::kFields; ++f) per_env(std::string("state/") + Task<float>::fields[f].name, state_[f]);
    per_env("age", age_);
    per_env("episode_reward", episode_reward_);
    for (int t = 0; t < Envs::kTerms; ++t) per_env("reward_terms/" + spec_.reward_terms[t], terms_[t]);
    per_env("stale", stale_);
  }

 private:
  using Envs = Environments<Task>;
  size_t size() const { return static_cast<size_t>(config_.num_envs); }

  EnvConfig config_;
  Queue& queue_;
  TaskSpec spec_;
  std::array<Array<float>, Envs::kFields> state_;
  std::array<Array<float>, Envs::kTerms> terms_;
  Array<int32_t> age_;
  Array<float> episode_reward_;
  Array<uint8_t> stale_;
  Array<double> sums_;
  Envs envs_{};
};

// For register_task.
template <template <class> class Task>
TaskEntry entry_of() {
  return {Task<float>::name, Task<float>::preset, make_spec<Task<float>>,
          [](const EnvConfig& config, Queue& queue) -> std::unique_ptr<VecEnv> {
            return std::make_unique<TaskEnvs<Task>>(config, queue);
          },
          [](VecEnv& env, Queue& queue, int64_t first_step, int64_t steps, float* checksum) {
            static_cast<TaskEnvs<Task>&>(env).step_randomly(queue, first_step, steps, checksum);
          }};
}

}  // namespace drl
