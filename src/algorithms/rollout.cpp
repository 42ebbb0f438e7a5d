#include "algorithms/rollout.hpp"

#include <algorithm>

namespace drl {
namespace {

// Returns the largest possible number of truncations of an environment in a rollout. Tasks with a finite horizon have
// none. If only the step limit truncates, two truncations are at least that many steps apart.
int64_t truncations(const TaskSpec& task, int64_t num_steps) {
  if (task.finite_horizon) return 0;
  const bool by_limit_only = task.step_limit > 0 && !task.truncates;
  return by_limit_only ? std::min<int64_t>(num_steps, num_steps / task.step_limit + 1) : task.truncates ? num_steps : 0;
}

}  // namespace

Rollout::Rollout(Queue& queue, const TaskSpec& task, int64_t num_steps, int64_t num_envs, bool every_end,
                 int actor_state, int critic_state, int out_size)
    : queue_(queue), every_end_(every_end), action_numbers_(task.action.numbers()) {
  const int64_t samples = num_steps * num_envs, with_next = samples + num_envs,
                size = out_size > 0 ? out_size : task.action.size;
  const int64_t last_rows = every_end ? num_steps : truncations(task, num_steps);
  const auto make = [&]<class T>(Array<T>& array, int64_t count) {
    array = Array<T>(queue, static_cast<size_t>(count));
    return array.data();
  };
  view_.num_steps = num_steps, view_.num_envs = num_envs;
  view_.obs_dim = task.obs_dim, view_.critic_obs_dim = task.critic_obs_dim, view_.out_size = size;
  view_.obs = make(obs_, with_next * task.obs_dim);
  view_.critic_obs = make(critic_obs_, with_next * task.critic_obs_dim);
  view_.policy_out = make(policy_out_, samples * size);
  view_.action = make(action_, samples * action_numbers_ * static_cast<int64_t>(sizeof(float)));
  view_.env_action = make(env_action_, num_envs * static_cast<int64_t>(task.action.low.size()));
  view_.log_prob = make(log_prob_, samples);
  view_.reward = make(reward_, samples);
  view_.terminated = make(terminated_, samples);
  view_.truncated = make(truncated_, samples);
  view_.last_count = make(last_count_, num_envs);
  view_.last_obs = make(last_obs_, last_rows * num_envs * task.obs_dim);
  view_.last_critic_obs = make(last_critic_obs_, last_rows * num_envs * task.critic_obs_dim);
  view_.last_rows = last_rows;
  view_.value = make(value_, with_next);
  view_.advantage = make(advantage_, samples);
  view_.return_target = make(return_target_, samples);
  view_.actor_state = make(actor_state_, num_envs * actor_state);
  view_.critic_state = make(critic_state_, num_envs * critic_state);
}

void Rollout::begin() { queue_.clear(last_count_.data(), last_count_.size()); }

void Rollout::roll_over() {
  const RolloutView& r = view_;
  queue_.copy(r.obs, r.obs + r.samples() * r.obs_dim, static_cast<size_t>(r.num_envs * r.obs_dim));
  queue_.copy(r.critic_obs, r.critic_obs + r.samples() * r.critic_obs_dim,
              static_cast<size_t>(r.num_envs * r.critic_obs_dim));
}

StepRow Rollout::row(int64_t t) const {
  const RolloutView& r = view_;
  const int64_t first = t * r.num_envs, next = first + r.num_envs;
  StepRow row;
  row.action = r.env_action;
  if (env_action_.empty()) row.action = r.action + first * action_numbers_ * static_cast<int64_t>(sizeof(float));
  row.next_obs = r.obs + next * r.obs_dim;
  row.next_critic_obs = r.critic_obs_dim > 0 ? r.critic_obs + next * r.critic_obs_dim : nullptr;
  row.reward = r.reward + first;
  row.terminated = r.terminated + first;
  row.truncated = r.truncated + first;
  row.last_obs = r.last_obs;
  row.last_critic_obs = r.critic_obs_dim > 0 ? r.last_critic_obs : nullptr;
  row.last_count = r.last_count;
  row.last_rows = r.last_rows;
  row.every_end = every_end_;
  return row;
}

ActionRow Rollout::action_row(int64_t t) const {
  const RolloutView& r = view_;
  const int64_t first = t * r.num_envs;
  return {r.obs + first * r.obs_dim, r.policy_out + first * r.out_size,
          r.action + first * action_numbers_ * static_cast<int64_t>(sizeof(float)), r.env_action, r.log_prob + first};
}

StepRow Rollout::start_row() const {
  StepRow row;
  row.next_obs = view_.obs;
  row.next_critic_obs = view_.critic_obs_dim > 0 ? view_.critic_obs : nullptr;
  return row;
}

}  // namespace drl
