#include "algorithms/collector.hpp"

#include <algorithm>
#include <variant>

namespace drl {
namespace {

// Returns half of the environments, rounded up to whole units that can be stepped separately.
int64_t half(int64_t num_envs) {
  const int64_t unit = VecEnv::kRangeUnit, units = (num_envs + unit - 1) / unit;
  return (units + 1) / 2 * unit;
}

}  // namespace

Collector::Collector(Nets& nets, const ActorCritic& spec, const Weights& weights, VecEnv& envs, Rollout& rollout,
                     uint64_t seed, int64_t first_env, ActionChoice choice)
    : nets_(nets),
      actor_(spec.actor),
      weights_(weights),
      envs_(envs),
      rollout_(rollout),
      seed_(seed),
      first_env_(first_env),
      choice_(choice),
      distribution_(rollout.queue(), spec, envs.spec().action, weights.params()) {}

// Works tile by tile, so that a step's output is still in the cache when it is read. If the host steps the environments
// for a policy on a GPU, both work at once: there are at least two tiles, and the next actions of a tile are enqueued
// before the following tile is stepped.
void Collector::collect(const NormalizerView& normalizer, const int64_t* first_step) {
  Queue& queue = rollout_.queue();
  const RolloutView& r = rollout_.view();
  const bool overlap = envs_.steps_on_host();
  const int64_t tile = overlap ? std::min(nets_.tile(), half(r.num_envs)) : nets_.tile();
  rollout_.begin();
  distribution_.refresh();
  const auto act = [&](int64_t t, int64_t begin, int64_t count) {
    const LifetimeStep step{first_step, t};
    choose_actions(normalizer, step, begin, count);
    envs_.announce_step(queue, step, begin, count, rollout_.row(t));
  };
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const StepRow row = rollout_.row(t);
    if (overlap && t == 0)
      for (int64_t begin = 0; begin < r.num_envs; begin += tile) act(0, begin, std::min(tile, r.num_envs - begin));
    for (int64_t begin = 0; begin < r.num_envs; begin += tile) {
      const int64_t count = std::min(tile, r.num_envs - begin);
      if (!overlap) choose_actions(normalizer, {first_step, t}, begin, count);
      envs_.step(queue, {first_step, t}, begin, count, row);
      if (overlap && t + 1 < r.num_steps) act(t + 1, begin, count);
    }
  }
}

// Enqueues the choice of actions for environments [begin, begin + count), into row step.offset.
void Collector::choose_actions(const NormalizerView& normalizer, LifetimeStep step, int64_t begin, int64_t count) {
  const RolloutView& r = rollout_.view();
  const int64_t first = step.offset * r.num_envs;
  float* out = r.policy_out + first * r.out_size;
  nets_.forward(actor_, weights_, {r.obs + (first + begin) * r.obs_dim, nullptr, count, normalizer},
                out + begin * r.out_size);
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        auto* action = reinterpret_cast<typename Policy::Action*>(r.action) + first * policy.action_size();
        for_each(rollout_.queue(), begin, begin + count,
                 ChooseActions<Policy>{policy, choice_, seed_, first_env_, step, out, action, r.env_action,
                                       r.log_prob + first});
      },
      distribution_.get());
}

}  // namespace drl
