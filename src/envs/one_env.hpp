// Steps one environment again on the host, from a state that was kept.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "envs/task_envs.hpp"

namespace drl {

class OneEnv {
 public:
  // The outcome of a step, before an ended episode is reset. Numbers may be NaN or infinite.
  struct Outcome {
    std::vector<float> observation, critic_observation;  // [obs_dim], [critic_obs_dim]
    float episode_reward = 0;                            // the sum of the episode's rewards
    bool terminated = false, truncated = false;
    bool lost = false;  // the sum of state, observations and reward is not finite
  };

  // `config` is that of the environments from which the state comes; `index` is the environment's global index, and
  // `isa` the instruction set of the loops that stepped it.
  OneEnv(std::string_view task, EnvConfig config, int64_t index, Isa isa);

  const TaskSpec& spec() const { return envs_->spec(); }
  // Returns the fields of VecEnv::visit_state and visit_shared_state, to be written before a step and read after it.
  const StateList& state() const { return state_; }
  // Clears the sums over the episode, so that those after the next step are of this step alone.
  void clear_sums();
  // Steps the environment with an action [spec().action.numbers()] of int32_t or float, within its bounds. `step` is
  // the step of its lifetime.
  Outcome step(int64_t step, const void* action);
  // Starts the next episode if the last step ended one.
  void reset_ended();

 private:
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<TaskEnvs> envs_;
  StateList state_;
  StepRow row_;
  std::vector<float> obs_, critic_obs_;
  float reward_ = 0;
  uint8_t terminated_ = 0, truncated_ = 0;
  int64_t step_ = 0;
};

}  // namespace drl
