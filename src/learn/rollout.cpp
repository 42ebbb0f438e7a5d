#include "learn/rollout.hpp"

#include <cstring>

namespace drl {

Rollout::Rollout(const TaskSpec& task, int64_t steps, int64_t envs)
    : num_steps(steps),
      num_envs(envs),
      obs_dim(task.obs_dim),
      critic_obs_dim(task.critic_obs_dim),
      action_size(task.action.size),
      discrete(task.action.discrete),
      obs((steps + 1) * envs * task.obs_dim),
      critic_obs((steps + 1) * envs * task.critic_obs_dim),
      policy_out(steps * envs * task.action.size),
      std(discrete ? 0 : task.action.size),
      action(discrete ? 0 : steps * envs * task.action.size),
      choice(discrete ? steps * envs : 0),
      env_action(discrete ? 0 : envs * task.action.size),
      log_prob(steps * envs),
      reward(steps * envs),
      terminated(steps * envs),
      truncated(steps * envs),
      final_obs(steps * envs * task.obs_dim),
      final_critic_obs(steps * envs * task.critic_obs_dim),
      value((steps + 1) * envs),
      advantage(steps * envs),
      return_target(steps * envs) {}

RolloutView Rollout::view() {
  return view_of(*this, num_steps, num_envs, obs_dim, critic_obs_dim, action_size, discrete, first_env);
}

StepRow RolloutView::row(int64_t t) const {
  const int64_t first = t * num_envs;
  StepRow row = start_row();
  row.action = discrete ? static_cast<const void*>(choice + first) : env_action;
  row.next_obs += (first + num_envs) * obs_dim;
  if (row.next_critic_obs) row.next_critic_obs += (first + num_envs) * critic_obs_dim;
  row.reward = reward + first;
  row.terminated = terminated + first;
  row.truncated = truncated + first;
  row.final_obs = final_obs + first * obs_dim;
  if (row.next_critic_obs) row.final_critic_obs = final_critic_obs + first * critic_obs_dim;
  return row;
}

StepRow RolloutView::start_row() const {
  StepRow row;
  row.next_obs = obs;
  row.next_critic_obs = critic_obs;
  return row;
}

void Rollout::roll_over() {
  std::memcpy(obs.data(), obs.data() + samples() * obs_dim, num_envs * obs_dim * sizeof(float));
  if (!critic_obs.empty())
    std::memcpy(critic_obs.data(), critic_obs.data() + samples() * critic_obs_dim,
                num_envs * critic_obs_dim * sizeof(float));
}

}  // namespace drl
