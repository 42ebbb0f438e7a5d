#include "algorithms/ppo/recurrent_critic.hpp"

#include "device/for_each.hpp"

namespace drl {

RecurrentCritic::RecurrentCritic(const LearnerParts& parts, LearnedPolicy& policy, int64_t last_rows)
    : queue_(parts.queue),
      nets_(parts.nets),
      policy_(policy),
      rnn_(policy.spec().critic_rnn),
      num_envs_(parts.plan.num_envs),
      step_(queue_, nets_, rnn_, num_envs_),
      states_(queue_, static_cast<size_t>(num_envs_ * rnn_.state_size())),
      other_states_(queue_, states_.size()),
      last_states_(queue_, static_cast<size_t>(last_rows) * states_.size()),
      values_(queue_, static_cast<size_t>(num_envs_)),
      taken_(queue_, values_.size()),
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
  const auto row_of = [&](const float* obs, int64_t t) {
    return Rows{obs + t * r.num_envs * inputs, nullptr, r.num_envs, normalizer};
  };
  queue_.clear(taken_.data(), taken_.size());
  for (int64_t t = 0; t < r.num_steps; ++t) {
    queue_.copy(r.value + t * r.num_envs, value(row_of(r.critic_input(), t), states_.data()), values_.size());
    keep_last_states(r, t);
    const Ended ended{r.terminated + t * r.num_envs, r.truncated + t * r.num_envs};
    for_each_row(queue_, 0, r.num_envs, size, CarryState{states_.data(), nullptr, ended, size, size, states_.data()});
  }
  queue_.copy(other_states_.data(), states_.data(), states_.size());
  queue_.copy(r.value + r.samples(), value(row_of(r.critic_input(), r.num_steps), other_states_.data()),
              values_.size());
  for (int64_t k = 0; k < r.last_rows; ++k) {
    float* states = last_states_.data() + k * r.num_envs * size;
    queue_.copy(last_values + k * r.num_envs, value(row_of(r.last_critic_input(), k), states), values_.size());
  }
}

void RecurrentCritic::keep_last_states(const RolloutView& r, int64_t step) {
  const int64_t size = rnn_.state_size();
  for_each(queue_, r.num_envs,
           TakeLastRows{r.truncated + step * r.num_envs, r.num_envs, r.last_rows, taken_.data(), rows_.data()});
  for_each_row(queue_, 0, r.num_envs, size, KeepLastStates{rows_.data(), states_.data(), size, last_states_.data()});
}

void RecurrentCritic::visit_state(StateVisitor& visitor) {
  visitor.array("rollout/critic_state", states_.data(), {num_envs_, rnn_.state_size()}, Sharding::per_env, &queue_);
}

}  // namespace drl
