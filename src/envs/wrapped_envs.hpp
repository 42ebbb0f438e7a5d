// The base of environments that change what other environments of any task receive or return.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "envs/vec_env.hpp"

namespace drl {

// Passes everything on to the wrapped environments. A wrapper overrides what it changes (recipe: docs/code.md).
class WrappedEnvs : public VecEnv {
 public:
  explicit WrappedEnvs(std::unique_ptr<VecEnv> envs) : envs_(std::move(envs)) {}

  const TaskSpec& spec() const override { return envs_->spec(); }
  int64_t num_envs() const override { return envs_->num_envs(); }
  bool steps_on_host() const override { return envs_->steps_on_host(); }
  std::string host_speeds() const override { return envs_->host_speeds(); }
  void reset(Queue& queue, const StepRow& row, const Start& start) override { envs_->reset(queue, row, start); }
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    envs_->announce_step(queue, step, begin, count, row);
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    envs_->step(queue, step, begin, count, row);
  }
  void take_episode_sums(Queue& queue, double* out, double* scratch) override {
    envs_->take_episode_sums(queue, out, scratch);
  }
  const void* received_actions(const StepRow& row) const override { return envs_->received_actions(row); }
  void draw(int64_t env, const CanvasCalls& canvas) override { envs_->draw(env, canvas); }
  void visit_state(StateVisitor& visitor) override { envs_->visit_state(visitor); }
  void set_params(const std::vector<std::byte>& params) override { envs_->set_params(params); }
  std::string files() const override { return envs_->files(); }
  void visit_shared_state(StateVisitor& visitor) override { envs_->visit_shared_state(visitor); }
  void iteration_ended(Queue& queue, int64_t iteration, int64_t steps, const EpisodeSums& episodes,
                       std::vector<float>& now) override {
    envs_->iteration_ended(queue, iteration, steps, episodes, now);
  }

 protected:
  VecEnv& wrapped() const { return *envs_; }

 private:
  std::unique_ptr<VecEnv> envs_;
};

}  // namespace drl
