#include "algorithms/collector.hpp"

#include <algorithm>
#include <variant>

namespace drl {

Collector::Collector(Nets& nets, const ActorCritic& spec, VecEnv& envs, Rollout& rollout, uint64_t seed,
                     int64_t first_env, ActionChoice choice, const float* params)
    : nets_(nets),
      actor_(spec.actor),
      envs_(envs),
      rollout_(rollout),
      seed_(seed),
      first_env_(first_env),
      choice_(choice),
      distribution_(rollout.queue(), spec, envs.spec().action, params) {}

// Tile by tile: what a step writes is still in the cache when the next one reads it.
void Collector::collect(const float* params, const NormalizerView& normalizer, const int64_t* first_step) {
  Queue& queue = rollout_.queue();
  const RolloutView& r = rollout_.view();
  rollout_.begin();
  distribution_.refresh();
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const int64_t first = t * r.num_envs;
    const StepRow row = rollout_.row(t);
    const LifetimeStep step{first_step, t};
    for (int64_t begin = 0; begin < r.num_envs; begin += nets_.tile()) {
      const int64_t count = std::min(nets_.tile(), r.num_envs - begin);
      float* out = r.policy_out + first * r.out_size;
      nets_.forward(actor_, params, {r.obs + (first + begin) * r.obs_dim, nullptr, count, normalizer},
                    out + begin * r.out_size);
      std::visit(
          [&]<class Policy>(const Policy& policy) {
            auto* action = reinterpret_cast<typename Policy::Action*>(r.action) + first * policy.action_size();
            for_each(queue, begin, begin + count,
                     ChooseActions<Policy>{policy, choice_, seed_, first_env_, step, out, action, r.env_action,
                                           r.log_prob + first});
          },
          distribution_.get());
      envs_.step(queue, step, begin, count, row);
    }
  }
}

}  // namespace drl
