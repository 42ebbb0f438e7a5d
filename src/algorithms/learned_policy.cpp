#include "algorithms/learned_policy.hpp"

#include <algorithm>

#include "algorithms/algorithm_kernels.hpp"
#include "base/check.hpp"
#include "device/reduce.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

const PolicyOptions& checked(const PolicyOptions& policy) {
  if (policy.std_min > policy.std_max)
    throw UsageError(
        "policy.std_min is above policy.std_max (no standard deviation satisfies both): swap the two values");
  return policy;
}

bool has_state_std(const Distribution& distribution) {
  return std::visit([]<class Policy>(const Policy&) { return HasStateStd<Policy>; }, distribution);
}

}  // namespace

LearnedPolicy::LearnedPolicy(const LearnerParts& parts, Slots& slots)
    : queue_(parts.queue),
      spec_(parts.spec),
      parameters_(queue_, static_cast<size_t>(spec_.layout.size())),
      host_parameters_(queue_, parameters_.size(), Memory::host),
      obs_normalizer_(queue_, spec_.normalized(), spec_.normalizer.value_or(NormalizerRule{})),
      critic_normalizer_(queue_, spec_.normalized_of_critic(), spec_.normalizer.value_or(NormalizerRule{})),
      obs_moments_(slots.add(obs_normalizer_.moments_size())),
      critic_obs_moments_(slots.add(critic_normalizer_.moments_size())),
      state_std_(slots.add(has_state_std(spec_.distribution) ? 2 : 0)),
      actor_(queue_, parts.nets, spec_, parameters_.data(), obs_normalizer_.view()),
      host_std_(queue_, actor_.std().size(), Memory::host),
      scratch_(queue_, sum_scratch(queue_, std::max({1, 2 * spec_.normalized(), 2 * spec_.normalized_of_critic()}))) {
  initialize_parameters(spec_, checked(parts.policy), parts.seed, host_parameters_);
  queue_.copy(parameters(), host_parameters_.data(), host_parameters_.size());
  actor_.repack();
  queue_.synchronize();
}

void LearnedPolicy::enqueue_moments(const RolloutView& r, Slots& slots) {
  obs_normalizer_.moments(r.obs, r.samples(), slots.at(obs_moments_), scratch_.data());
  critic_normalizer_.moments(r.critic_obs, r.samples(), slots.at(critic_obs_moments_), scratch_.data());
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        if constexpr (HasStateStd<Policy>)
          sum_columns(queue_, r.samples(), StateStd<Policy>::kColumns, scratch_.data(),
                      StateStd<Policy>{policy, r.policy_out}, StoreMoments{r.samples(), slots.at(state_std_)});
      },
      distribution());
}

void LearnedPolicy::enqueue_end() { queue_.copy(host_std_.data(), actor_.std().data(), host_std_.size()); }

void LearnedPolicy::end(const Slots& slots) {
  obs_normalizer_.merge(slots.sums(obs_moments_));
  critic_normalizer_.merge(slots.sums(critic_obs_moments_));
  if (state_std_.size > 0) mean_state_std_ = slots.sums(state_std_)[1] / slots.sums(state_std_)[0];
}

double LearnedPolicy::action_std() const {
  if (state_std_.size > 0) return mean_state_std_;
  double sum = 0;
  for (float std : host_std_) sum += static_cast<double>(std);
  return sum / static_cast<double>(host_std_.size());
}

std::span<const float> LearnedPolicy::host_parameters() {
  queue_.copy(host_parameters_.data(), parameters(), host_parameters_.size());
  queue_.synchronize();
  return host_parameters_;
}

void LearnedPolicy::visit_parameters(StateVisitor& visitor) {
  for (const ParamSlice& slice : spec_.layout.slices())
    visitor.array(slice.name, parameters() + slice.offset, slice.shape, Sharding::replicated, &queue_);
}

void LearnedPolicy::visit_normalizers(StateVisitor& visitor) {
  obs_normalizer_.visit_state(visitor, "normalizer/obs");
  critic_normalizer_.visit_state(visitor, "normalizer/critic_obs");
}

void LearnedPolicy::state_changed() {
  actor_.repack();
  obs_normalizer_.refresh();
  critic_normalizer_.refresh();
  queue_.synchronize();
}

}  // namespace drl
