#include "algorithms/ppo/recurrent_critic.hpp"

#include "device/for_each.hpp"

namespace drl {

RecurrentCritic::RecurrentCritic(const LearnerParts& parts, LearnedPolicy& policy)
    : queue_(parts.queue),
      nets_(parts.nets),
      policy_(policy),
      rnn_(policy.spec().critic_rnn),
      num_envs_(parts.plan.num_envs),
      step_(queue_, nets_, rnn_, num_envs_),
      states_(queue_, static_cast<size_t>(num_envs_ * rnn_.state_size())),
      other_states_(queue_, states_.size()),
      values_(queue_, static_cast<size_t>(num_envs_)),
      taken_(queue_, values_.size()),
      envs_(queue_, values_.size()),
      rows_(queue_, values_.size()) {}

void RecurrentCritic::enqueue_begin(const RolloutView& rollout) {
  queue_.copy(rollout.critic_state, states_.data(), states_.size());
}

// Takes a step of the recurrent layers, and returns the values [x.count].
const float* RecurrentCritic::value(const Rows& x, float* states) {
  const float* features = step_.step(policy_.weights(), x, states);
  nets_.forward(policy_.spec().critic, policy_.weights(), {features, nullptr, x.count}, values_.data());
  return values_.data();
}

void RecurrentCritic::enqueue_values(const RolloutView& r, float* last_values) {
  const int64_t inputs = r.critic_obs_dim > 0 ? r.critic_obs_dim : r.obs_dim, size = rnn_.state_size();
  const NormalizerView normalizer = policy_.normalizers().critic();
  const auto row = [&](int64_t t) {
    return Rows{r.critic_input() + t * r.num_envs * inputs, nullptr, r.num_envs, normalizer};
  };
  queue_.clear(taken_.data(), taken_.size());
  for (int64_t t = 0; t < r.num_steps; ++t) {
    queue_.copy(r.value + t * r.num_envs, value(row(t), states_.data()), values_.size());
    value_last_observations(r, t, last_values);
    const Ended ended{r.terminated + t * r.num_envs, r.truncated + t * r.num_envs};
    for_each(queue_, r.num_envs, CarryState{states_.data(), nullptr, ended, size, size, states_.data()});
  }
  queue_.copy(other_states_.data(), states_.data(), states_.size());
  queue_.copy(r.value + r.samples(), value(row(r.num_steps), other_states_.data()), values_.size());
}

void RecurrentCritic::value_last_observations(const RolloutView& r, int64_t step, float* last_values) {
  int64_t count = 0;
  for (int64_t env = 0; env < r.num_envs; ++env) {
    if (!r.truncated[step * r.num_envs + env]) continue;
    const auto i = static_cast<size_t>(env);
    if (const int64_t k = taken_[i]++; k < r.last_rows) {
      envs_[static_cast<size_t>(count)] = static_cast<int32_t>(env);
      rows_[static_cast<size_t>(count++)] = static_cast<int32_t>(k * r.num_envs + env);
    }
  }
  if (count == 0) return;
  const int64_t size = rnn_.state_size();
  for_each(queue_, count, CarryState{states_.data(), envs_.data(), {}, size, size, other_states_.data()});
  const float* values =
      value({r.last_critic_input(), rows_.data(), count, policy_.normalizers().critic()}, other_states_.data());
  for (int64_t i = 0; i < count; ++i) last_values[rows_[static_cast<size_t>(i)]] = values[i];
}

void RecurrentCritic::visit_state(StateVisitor& visitor) {
  visitor.array("rollout/critic_state", states_.data(), {num_envs_, rnn_.state_size()}, Sharding::per_env, &queue_);
}

}  // namespace drl
