#include "algorithms/reward_normalizer.hpp"

#include <algorithm>

#include "device/for_each.hpp"
#include "device/reduce.hpp"

namespace drl {

RewardNormalizer::RewardNormalizer(Queue& queue, Slots& slots, const BatchPlan& plan, const Settings& settings)
    : queue_(queue),
      settings_(settings),
      rank_(plan.rank),
      returns_(queue, settings.is_on ? 1 : 0, settings.rule),
      running_(queue, settings.is_on ? static_cast<size_t>(plan.num_envs) : 0),
      largest_of_envs_(queue, settings.has_largest ? running_.size() : 0),
      moments_(slots.add(returns_.moments_size())),
      largest_of_ranks_(slots.add(settings.is_on && settings.has_largest ? static_cast<size_t>(plan.world_size) : 0)),
      scratch_(queue, sum_scratch(queue, 2)) {}

void RewardNormalizer::enqueue(const RolloutView& rollout, Slots& slots) {
  if (!settings_.is_on) return;
  const auto gamma = static_cast<float>(settings_.gamma);
  float* returns = rollout.advantage;
  for_each(queue_, rollout.num_envs,
           DiscountedReturns{rollout, gamma, running_.data(), returns, largest_of_envs_.data()});
  returns_.moments(returns, rollout.samples(), slots.at(moments_), scratch_.data());
  if (settings_.has_largest)
    for_each(queue_, 1, LargestOf{largest_of_envs_.data(), rollout.num_envs, slots.at(largest_of_ranks_) + rank_});
}

void RewardNormalizer::end(const Slots& slots) {
  if (!settings_.is_on) return;
  returns_.merge(slots.sums(moments_));
  for (const double largest : slots.sums(largest_of_ranks_)) largest_ = std::max(largest_, largest);
}

void RewardNormalizer::visit_state(StateVisitor& visitor) {
  if (!settings_.is_on) return;
  returns_.visit_state(visitor, "reward_normalizer");
  if (settings_.has_largest) visitor.scalar("reward_normalizer/largest", largest_);
  visitor.array("reward_normalizer/discounted_return", running_.data(), {static_cast<int64_t>(running_.size())},
                Sharding::per_env, &queue_);
}

}  // namespace drl
