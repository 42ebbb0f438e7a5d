// Environments of the task "Breaking" whose lost states are dumped, for tests here and in gpu/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../support/temp_folder.hpp"
#include "algorithms/rollout.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"
#include "own_task_table.hpp"
#include "run/lost_states.hpp"

namespace drl {

// They are stepped as a learner steps them, with given actions. Actions 1 to 4 make the state, the observation, the
// critic's observation or the reward not finite; with action 0 an episode has four steps.
class Watched {
 public:
  static constexpr int64_t kFirst = 16;  // global index of the first environment

  Watched(const TempFolder& run, int64_t num_envs, int64_t num_steps, int rank = 0, int world_size = 1,
          std::unique_ptr<Queue> queue = make_host_queue(available_isas().back()))
      : queue_(std::move(queue)),
        config_{.num_envs = num_envs, .first_global_index = kFirst, .seed = 3},
        states_("Breaking", config_, queue_->isa(), rank, world_size) {
    register_test_tasks();
    envs_ = make_env("Breaking", config_, *queue_);
    rollout_.emplace(*queue_, envs_->spec(), num_steps, num_envs);
    envs_->reset(*queue_, rollout_->start_row(), {});
    states_.write_to(run.path(), {{"task", std::string("Breaking")}}, "the options");
  }

  // `actions`: [num_steps][num_envs]
  void roll_out(const std::vector<std::vector<int32_t>>& actions) {
    const RolloutView& r = rollout_->view();
    rollout_->begin();
    states_.rollout_begins(*queue_, *envs_, r);
    const Array<int64_t> first_step = on_queue(std::vector<int64_t>{first_step_});
    for (int64_t t = 0; t < r.num_steps; ++t) {
      const auto& row = actions[static_cast<size_t>(t)];
      queue_->copy(reinterpret_cast<int32_t*>(r.action) + t * r.num_envs, row.data(), row.size());
      envs_->step(*queue_, {first_step.data(), t}, 0, r.num_envs, rollout_->row(t));
    }
    const auto columns = static_cast<int64_t>(episode_columns(envs_->spec()));
    Array<double> sums(*queue_, static_cast<size_t>(columns)), scratch(*queue_, sum_scratch(*queue_, columns));
    envs_->take_episode_sums(*queue_, sums.data(), scratch.data());
    rollout_->roll_over();  // overwrites row 0, as PPO does before the rollout is looked at
    const std::vector<float> changed(static_cast<size_t>(r.samples()), 0.5f);  // as intrinsic rewards change them
    queue_->copy(r.reward, changed.data(), changed.size());
    std::vector<double> on_host(sums.size());
    queue_->copy(on_host.data(), sums.data(), on_host.size());
    queue_->synchronize();
    states_.rollout_ended(iteration_++, first_step_, r, read_episodes(on_host.data(), envs_->spec()));
    first_step_ += r.num_steps;
  }
  const EnvConfig& config() const { return config_; }

  void begin_with(int64_t iteration) { iteration_ = iteration; }

 private:
  template <class T>
  Array<T> on_queue(const std::vector<T>& numbers) {
    Array<T> array(*queue_, numbers.size());
    queue_->copy(array.data(), numbers.data(), numbers.size());
    queue_->synchronize();
    return array;
  }

  std::unique_ptr<Queue> queue_;
  EnvConfig config_;
  LostStates states_;
  std::unique_ptr<VecEnv> envs_;
  std::optional<Rollout> rollout_;
  int64_t first_step_ = 0, iteration_ = 0;
};

}  // namespace drl
