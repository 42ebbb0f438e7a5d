// Executes a task: stores each number of its State as an array over the environments, and steps them with the loops of
// the task's library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "drl/task/abi.hpp"
#include "envs/env_setup.hpp"
#include "envs/simulator.hpp"
#include "envs/vec_env.hpp"

namespace drl {

struct EnvConfig {
  int64_t num_envs = 1;            // on this rank
  int64_t first_global_index = 0;  // of this rank's first environment; the others follow
  uint64_t seed = 0;
  bool random_start_ages = false;  // first episodes start at a random age, so that time limits are spread out
  EnvSetup setup = {};             // of the task's options (TaskParams::setup); empty: their defaults
  int threads = 1;                 // of the host, for simulators and robots (simulator_envs.hpp)
  bool exact = false;              // compute in double (but store floats) as a reference; on a host's queue only
};

// A task's loop on a GPU, as bench/gpu_kernels sees it (device/launch_watch.hpp).
struct TaskLaunch {
  const TaskRecord* record;
  const LoopCall* call;
};

// Returns the task's own properties with these options; empty: their defaults.
TaskSpec spec_of(const TaskRecord& record, const EnvSetup& setup = {});
// Returns the largest instruction set up to `isa` for which the task's library is compiled, or the smallest of all if
// there is none.
Isa compiled_isa(const TaskRecord& record, Isa isa);
// Throws UsageError if the task has no draw().
void require_draw(const TaskRecord& record);

// Environment k has the global index config.first_global_index + k. For given actions, its trajectory depends only on
// config.seed, config.setup and this index. step() allocates no memory.
class TaskEnvs final : public VecEnv {
 public:
  // `record` and `queue` must outlive this object.
  TaskEnvs(const TaskRecord& record, const EnvConfig& config, Queue& queue);

  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return config_.num_envs; }
  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  // The two halves of a step of all environments, on a host's queue: between them, an episode that has ended still has
  // its last state, and the age of a lost environment is negative.
  void step_only(LifetimeStep step, const StepRow& row);
  void reset_ended(LifetimeStep step, const StepRow& row);
  void take_episode_sums(Queue& queue, double* out, double* scratch) override;
  void draw(int64_t env, const CanvasCalls& canvas) override;
  // Does not visit the sums over finished episodes, which are taken before a checkpoint is saved.
  void visit_state(StateVisitor& visitor) override;
  void set_params(const std::vector<std::byte>& params) override;
  std::string files() const override { return simulator_ ? simulator_->files() : record_.model ? record_.model : ""; }
  void visit_shared_state(StateVisitor& visitor) override;
  void iteration_ended(Queue& queue, int64_t iteration, int64_t steps, const EpisodeSums& episodes,
                       std::vector<float>& curriculum) override;

 private:
  const TaskLoops& loops() const;
  LoopCall call(Queue& queue, const StepRow& row, int64_t begin, int64_t end) const;
  void run(TaskLoop loop, const LoopCall& call) const;
  [[noreturn]] void fail(const std::string& why) const;
  size_t size() const { return static_cast<size_t>(config_.num_envs); }
  // A simulator's ranges may begin anywhere, so its environments must not share rows.
  int64_t envs_per_sum_row() const { return queue_.on_gpu() || record_.simulator ? 1 : kRangeUnit; }
  int64_t sum_rows() const { return (config_.num_envs + envs_per_sum_row() - 1) / envs_per_sum_row(); }

  const TaskRecord& record_;
  EnvConfig config_;
  Queue& queue_;
  TaskSpec spec_;
  const TaskLoops& loops_;
  std::unique_ptr<Simulator> simulator_;
  std::vector<Array<float>> state_, terms_;  // [columns], [reward terms, metrics]; integer columns hold int32_t
  Array<int32_t> age_;
  Array<float> episode_reward_, curriculum_, model_bounds_, motor_memory_, robot_columns_;
  Array<int32_t> ended_by_;
  Array<uint8_t> counted_episodes_;
  Array<double> sums_;
  std::vector<void*> columns_;
  std::vector<float*> term_columns_;
  EnvArrays arrays_{};
};

}  // namespace drl
