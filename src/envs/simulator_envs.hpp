// Environments that the host's threads step, for a learner on the host or on a GPU: simulators (drl/simulator.hpp), and
// robots in lanes that no GPU steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_team.hpp"
#include "device/array.hpp"
#include "envs/task_envs.hpp"

namespace drl {

// step() divides its range among config.threads threads, and must be called by one thread at a time. Results do not
// depend on the number of threads. With a GPU's queue, step() works on rows in pinned host memory: actions are copied
// to the host and results to the GPU.
class SimulatorEnvs final : public VecEnv {
 public:
  SimulatorEnvs(const TaskRecord& record, const EnvConfig& config, Queue& queue);

  const TaskSpec& spec() const override { return envs_.spec(); }
  int64_t num_envs() const override { return envs_.num_envs(); }
  bool steps_on_host() const override { return rows_ != nullptr; }
  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  std::string host_speeds() const override;
  void take_episode_sums(Queue& queue, double* out, double* scratch) override;
  void draw(int64_t env, const CanvasCalls& canvas) override { envs_.draw(env, canvas); }
  void visit_state(StateVisitor& visitor) override { envs_.visit_state(visitor); }
  void set_params(const std::vector<std::byte>& params) override { envs_.set_params(params); }
  std::string files() const override { return envs_.files(); }
  void visit_shared_state(StateVisitor& visitor) override { envs_.visit_shared_state(visitor); }
  void iteration_ended(Queue&, int64_t iteration, int64_t steps, const EpisodeSums& episodes,
                       std::vector<float>& now) override {
    envs_.iteration_ended(host_, iteration, steps, episodes, now);
  }

 private:
  // A range of environments whose actions were fetched by announce_step().
  struct Announced {
    int64_t begin, count;
    Array<int64_t> first_step;  // the host's copy of LifetimeStep::first
    std::unique_ptr<Queue::Event> arrived;
    bool waiting = false;
  };
  // The host's copies of a StepRow's arrays, and the GPU's buffers for last observations.
  struct Rows {
    Rows(Queue& queue, const TaskSpec& spec, int64_t num_envs);
    StepRow row(bool every_end);

    Array<std::byte> action;
    Array<float> next_obs, next_critic_obs, reward, last_obs, last_critic_obs;
    Array<uint8_t> terminated, truncated;
    Array<int32_t> kept;  // [N] StepRow::last_count, for one step
    Array<double> sums, scratch;
    std::unique_ptr<Queue::Event> sums_taken;
    Array<int32_t> gpu_kept;
    Array<float> gpu_last_obs, gpu_last_critic_obs;
    std::vector<Announced> announced;
    int64_t steps = 0;                 // of environments, so far
    double stepping = 0, waiting = 0;  // seconds, so far
  };

  Announced& announced(Queue& queue, int64_t begin, int64_t count);
  void step_on_host(LifetimeStep step, int64_t begin, int64_t count, const StepRow& row);
  void copy_up(Queue& queue, int64_t begin, int64_t count, const StepRow& row);
  void keep_last(Queue& queue, int64_t begin, int64_t count, const StepRow& row);

  std::unique_ptr<Queue> own_queue_;  // a host's queue, if the learner's is a GPU's
  Queue& host_;
  TaskEnvs envs_;
  ThreadTeam team_;
  const bool in_lanes_;
  std::unique_ptr<Rows> rows_;  // if the learner's queue is a GPU's
};

}  // namespace drl
