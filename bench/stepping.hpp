// Environments that are stepped with random actions.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "algorithms/rollout.hpp"
#include "device/array.hpp"
#include "drl/lanes/philox.hpp"
#include "envs/make_env.hpp"

namespace drl {

// Steps environments through a rollout with actions that were generated in advance, as drl_train collects rollouts: on
// a GPU, a recorded graph contains all steps.
class Stepping {
 public:
  static constexpr int64_t kRows = 32;  // steps of the rollout

  Stepping(Queue& queue, const std::string& task, const EnvConfig& config)
      : queue_(queue),
        envs_(make_env(task, config, queue)),
        rollout_(queue, envs_->spec(), kRows, config.num_envs),
        first_step_(queue, 1),
        actions_(random_actions(queue, envs_->spec().action, kRows * config.num_envs)) {
    envs_->reset(queue, rollout_.start_row(), {});
    enqueue();  // loads the kernel before recording
    queue.synchronize();
    recording_ = queue.record([this] { enqueue(); });
  }

  // Enqueues all steps of a rollout. Each round continues the episodes and uses the same random numbers again.
  void round() { recording_ ? queue_.launch(*recording_) : enqueue(); }
  VecEnv& envs() { return *envs_; }
  // The actions of all steps, [kRows, num_envs, numbers of an action]: floats, or int32 for discrete actions.
  const float* actions() const { return actions_.data(); }

 private:
  static Array<float> random_actions(Queue& queue, const ActionSpace& space, int64_t rows) {
    const size_t size = space.discrete ? 1 : static_cast<size_t>(space.size), count = static_cast<size_t>(rows) * size;
    Array<float> values(count), actions(queue, count);
    for (size_t i = 0; i < count; ++i) {
      const float share = uniform01(random_bits(1, Purpose::benchmark, i, 0)[0]);
      if (space.discrete) {
        values[i] = bit_cast<float>(static_cast<int32_t>(share * static_cast<float>(space.size)));
      } else {  // an action without bounds is in [-1, 1]
        const float low = std::isfinite(space.low[i % size]) ? space.low[i % size] : -1,
                    high = std::isfinite(space.high[i % size]) ? space.high[i % size] : 1;
        values[i] = low + (high - low) * share;
      }
    }
    queue.copy(actions.data(), values.data(), count);
    queue.synchronize();
    return actions;
  }
  void enqueue() {
    rollout_.begin();
    for (int64_t t = 0; t < kRows; ++t) {
      StepRow row = rollout_.row(t);
      row.action = actions_.data() + t * static_cast<int64_t>(actions_.size()) / kRows;
      envs_->step(queue_, {first_step_.data(), t}, 0, envs_->num_envs(), row);
    }
  }

  Queue& queue_;
  std::unique_ptr<VecEnv> envs_;
  Rollout rollout_;
  Array<int64_t> first_step_;
  Array<float> actions_;
  std::unique_ptr<RecordedWork> recording_;
};

}  // namespace drl
