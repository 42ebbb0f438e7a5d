#include "envs/one_env.hpp"

#include <algorithm>
#include <cstring>

#include "envs/make_env.hpp"
#include "envs/task_params.hpp"

namespace drl {
namespace {

std::unique_ptr<TaskEnvs> make_one(std::string_view task, EnvConfig config, int64_t index, Queue& queue) {
  const TaskRecord& named = task_record(task);
  if (!config.setup.record) config.setup = TaskParams(named).setup();
  config.num_envs = 1, config.first_global_index = index, config.random_start_ages = false;
  return std::make_unique<TaskEnvs>(*config.setup.record, config, queue);
}

}  // namespace

OneEnv::OneEnv(std::string_view task, EnvConfig config, int64_t index, Isa isa)
    : queue_(make_host_queue(isa)), envs_(make_one(task, std::move(config), index, *queue_)) {
  obs_.resize(static_cast<size_t>(spec().obs_dim)), critic_obs_.resize(static_cast<size_t>(spec().critic_obs_dim));
  row_.next_obs = obs_.data(), row_.next_critic_obs = critic_obs_.empty() ? nullptr : critic_obs_.data();
  row_.reward = &reward_, row_.terminated = &terminated_, row_.truncated = &truncated_;
  envs_->reset(*queue_, row_, {});
  state_ = list_state([&](StateVisitor& visitor) {
    envs_->visit_state(visitor);
    envs_->visit_shared_state(visitor);
  });
}

void OneEnv::clear_sums() {
  for (const StateField& field : state_)
    if (field.name == "env/episode_reward" || field.name.starts_with("env/reward_terms/"))
      std::memset(field.data, 0, field.bytes());
}

OneEnv::Outcome OneEnv::step(int64_t step, const void* action) {
  row_.action = action, step_ = step;
  envs_->step_only({&step_, 0}, row_);
  Outcome outcome{obs_, critic_obs_, 0, terminated_ != 0, truncated_ != 0, terminated_ == kLost};
  for (const StateField& field : state_)
    if (field.name == "env/episode_reward") std::memcpy(&outcome.episode_reward, field.data, sizeof(float));
  return outcome;
}

void OneEnv::reset_ended() {
  if (terminated_ || truncated_) envs_->reset_ended({&step_, 0}, row_);
}

}  // namespace drl
