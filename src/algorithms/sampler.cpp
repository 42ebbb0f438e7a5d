#include "algorithms/sampler.hpp"

#include "device/reduce.hpp"

namespace drl {

Sampler::Sampler(const LearnerParts& parts, LearnedPolicy& policy, Slots& slots, float action_noise)
    : queue_(parts.queue),
      envs_(parts.envs),
      watch_(parts.watch),
      actor_(policy.actor()),
      rollout_(queue_, envs_.spec(), parts.plan.num_steps, parts.plan.num_envs, /*every_end=*/false,
               policy.spec().actor_rnn.state_size(), policy.spec().critic_rnn.state_size(),
               policy.spec().actor_net().outputs()),
      collector_(actor_, envs_, rollout_,
                 {ActionChoice::sample, parts.seed, parts.plan.rank * parts.plan.num_envs, action_noise}),
      episodes_(slots.add(episode_columns(envs_.spec()))),
      scratch_(queue_, sum_scratch(queue_, static_cast<int64_t>(episodes_.size))) {}

void Sampler::enqueue_reset(const Start& start) {
  envs_.reset(queue_, rollout_.start_row(), start);
  actor_.restart_episodes();
}

void Sampler::enqueue(const int64_t* first_step, Slots& slots) {
  enqueue_begin_of_rollout();
  collector_.collect(first_step);
  enqueue_end(slots);
}

void Sampler::enqueue_begin() {
  enqueue_begin_of_rollout();
  collector_.begin();
}

void Sampler::enqueue_begin_of_rollout() {
  queue_.copy(rollout_.view().actor_state, actor_.states().data(), actor_.states().size());
  if (watch_) watch_->rollout_begins(queue_, envs_, rollout_.view());
}

void Sampler::enqueue_end(Slots& slots) {
  // This must be part of the collection, because the work after it is recorded, and the host, which computes these
  // sums for some tasks, cannot be recorded.
  envs_.take_episode_sums(queue_, slots.at(episodes_), scratch_.data());
}

void Sampler::end(int64_t iteration, int64_t first_step, const Slots& slots, IterationStats& stats) {
  stats.episodes = read_episodes(slots.sums(episodes_).data(), envs_.spec());
  if (watch_) watch_->rollout_ended(iteration, first_step, rollout_.view(), stats.episodes);
  envs_.iteration_ended(queue_, iteration, rollout_.view().num_steps, stats.episodes, stats.curriculum);
}

void Sampler::visit_row(StateVisitor& visitor) {
  const RolloutView& r = rollout_.view();
  visitor.array("rollout/obs", r.obs, {r.num_envs, r.obs_dim}, Sharding::per_env, &queue_);
  if (r.critic_obs_dim > 0)
    visitor.array("rollout/critic_obs", r.critic_obs, {r.num_envs, r.critic_obs_dim}, Sharding::per_env, &queue_);
  if (actor_.state_size() > 0)
    visitor.array("rollout/actor_state", actor_.states().data(), {r.num_envs, actor_.state_size()}, Sharding::per_env,
                  &queue_);
}

}  // namespace drl
