#include "algorithms/replay.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "device/for_each.hpp"

namespace drl {

Replay::Replay(Queue& queue, const TaskSpec& task, int64_t num_envs, int64_t capacity)
    : queue_(queue), counts_(static_cast<size_t>(2 * num_envs)) {
  const auto make = [&]<class T>(Array<T>& array, int64_t per_row) {
    array = Array<T>(queue, static_cast<size_t>(num_envs * capacity * per_row));
    return array.data();
  };
  view_ = {.num_envs = num_envs,
           .capacity = capacity,
           .obs_dim = task.obs_dim,
           .critic_obs_dim = task.critic_obs_dim,
           .action_size = task.action.size,
           .obs = make(obs_, task.obs_dim),
           .next_obs = make(next_obs_, task.obs_dim),
           .critic_obs = make(critic_obs_, task.critic_obs_dim),
           .next_critic_obs = make(next_critic_obs_, task.critic_obs_dim),
           .action = make(action_, task.action.size),
           .reward = make(reward_, 1),
           .end = make(end_, 1)};
}

int64_t Replay::bytes(const TaskSpec& task, int64_t num_envs, int64_t capacity) {
  const int64_t floats = 2 * (task.obs_dim + task.critic_obs_dim) + task.action.size + 1;
  return num_envs * capacity * (floats * static_cast<int64_t>(sizeof(float)) + 1);
}

void Replay::enqueue_add(const RolloutView& rollout, int64_t t) {
  for_each(queue_, view_.num_envs, StoreTransitions{view_, rollout, t, next_});
  next_ = (next_ + 1) % view_.capacity;
  filled_ = std::min(filled_ + 1, view_.capacity);
}

void Replay::write_counts() {
  for (size_t i = 0; i < counts_.size(); i += 2) counts_[i] = filled_, counts_[i + 1] = next_;
}

void Replay::state_changed(const float* obs) {
  filled_ = counts_[0], next_ = counts_[1];
  if (filled_ > 0)
    for_each(queue_, view_.num_envs, CutEpisodes{view_, (next_ + view_.capacity - 1) % view_.capacity, obs});
}

void Replay::visit_state(StateVisitor& visitor) {
  visitor.array("replay/counts", counts_.data(), {view_.num_envs, 2}, Sharding::replay);
  const auto visit = [&]<class T>(const char* name, T* data, int64_t size) {
    if (size > 0) visitor.array(name, data, {view_.num_envs, view_.capacity, size}, Sharding::replay, &queue_);
  };
  visit("replay/obs", view_.obs, view_.obs_dim);
  visit("replay/next_obs", view_.next_obs, view_.obs_dim);
  visit("replay/critic_obs", view_.critic_obs, view_.critic_obs_dim);
  visit("replay/next_critic_obs", view_.next_critic_obs, view_.critic_obs_dim);
  visit("replay/action", view_.action, view_.action_size);
  visit("replay/reward", view_.reward, 1);
  visit("replay/end", view_.end, 1);
}

}  // namespace drl
