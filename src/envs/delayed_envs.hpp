// Delays the actions and observations of environments of any task, and adds errors of sensors to the observations
// (--env.delay, --env.sensor_error).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/array.hpp"
#include "envs/delay_kernels.hpp"
#include "envs/delay_options.hpp"
#include "envs/task_envs.hpp"

namespace drl {

// Wraps environments. A delay of k steps shows at step t of an episode what the environment (or the policy) gave at
// step t - k, and until step k what it gave first. The critic's own observations, rewards and ends are not delayed.
class DelayedEnvs final : public VecEnv {
 public:
  // `config` is that of the environments. `queue` must outlive this object.
  DelayedEnvs(std::unique_ptr<VecEnv> envs, const DelayPlan& plan, const std::vector<float>& error_bounds,
              const EnvConfig& config, Queue& queue);

  const TaskSpec& spec() const override { return envs_->spec(); }
  int64_t num_envs() const override { return envs_->num_envs(); }
  bool steps_on_host() const override { return envs_->steps_on_host(); }
  std::string host_speeds() const override { return envs_->host_speeds(); }
  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void take_episode_sums(Queue& queue, double* out, double* scratch) override {
    envs_->take_episode_sums(queue, out, scratch);
  }
  void draw(int64_t env, const CanvasCalls& canvas) override { envs_->draw(env, canvas); }
  void visit_state(StateVisitor& visitor) override;
  std::string files() const override { return envs_->files(); }
  void visit_shared_state(StateVisitor& visitor) override { envs_->visit_shared_state(visitor); }
  void iteration_ended(Queue& queue, int64_t iteration, const EpisodeSums& episodes, std::vector<float>& now) override {
    envs_->iteration_ended(queue, iteration, episodes, now);
  }

 private:
  // The memory of a DelayLine.
  struct Line {
    Line(const DelayRange& range, int64_t width, int64_t num_envs, Queue& queue);
    DelayLine view();
    void visit_state(StateVisitor& visitor, const std::string& name, bool is_discrete, Queue& queue);

    DelayRange range;
    int64_t width, num_envs;
    Array<int32_t> delay;
    Array<float> values, shown;
  };
  Delays delays();
  // Returns the row that the wrapped environments read and write.
  StepRow inner(StepRow row);

  std::unique_ptr<VecEnv> envs_;
  Queue& queue_;
  const uint64_t seed_;
  const int64_t first_global_index_;
  Line action_, observation_;
  Array<int32_t> age_;
  Array<float> delivered_, raw_, error_bounds_, errors_;
  std::vector<int64_t> announced_;  // first environments of the ranges whose actions were passed on
};

}  // namespace drl
