#include "algorithms/td3/td3.hpp"

#include <variant>

#include "base/check.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

constexpr PresetDeviation kPresets[] = {{"", kOffPolicyPreset}, {"", "[policy]\nstate_dependent_std = false\n"}};

}  // namespace

std::span<const PresetDeviation> Td3::presets() { return kPresets; }

void Td3::check(const Td3Options& options, const PolicyOptions& policy) {
  check_networks(kTraits, options, policy);
  if (policy.distribution != SquashedGaussian::kName || policy.state_dependent_std)
    throw UsageError(
        "--algorithm td3 learns actions through tanh, without a standard deviation: use --policy.distribution "
        "squashed_gaussian --policy.state_dependent_std false");
}

Td3::Td3(const LearnerParts& parts, const Td3Options& options)
    : OffPolicyLearner(parts, options,
                       {.algorithm = kTraits,
                        .choice = ActionChoice::noisy,
                        .action_noise = static_cast<float>(options.exploration_noise),
                        .delays_targets = true}),
      own_options_(options),
      target_actor_(queue_, static_cast<size_t>(policy_.spec().layout.size())),
      target_weights_(nets_.pack(target_actor_.data())) {
  queue_.copy(target_actor_.data(), policy_.parameters(), target_actor_.size());
  nets_.repack(*target_weights_);
  queue_.synchronize();
}

SmoothActions Td3::smooth(const ActionNoise& noise, double std) {
  return {std::get<SquashedGaussian>(policy_.distribution()),
          noise,
          static_cast<float>(std),
          static_cast<float>(own_options_.noise_clip),
          out_.data(),
          critic_obs(),
          input_.data()};
}

void Td3::act_next(const Tile& tile) {
  for_each(queue_, tile.count, smooth(noise(Purpose::next_action, updates_, tile), own_options_.policy_noise));
}

void Td3::act(const Tile& tile) { for_each(queue_, tile.count, smooth(noise(Purpose::policy_action, 0, tile), 0)); }

void Td3::add_actor_loss(const Tile& tile) {
  add_rows(queue_, tile.count, ActorColumn::count, scratch_.data(),
           DeterministicLoss{std::get<SquashedGaussian>(policy_.distribution()), out_.data(), q_[0].data(),
                             d_input_[0].data(), critic_obs(), d_out_.data()});
}

void Td3::after_actor_step() {
  for_each(queue_, policy_.spec().layout.size(),
           MoveTargets{policy_.parameters(), static_cast<float>(own_options_.tau), target_actor_.data()});
  nets_.repack(*target_weights_);
}

void Td3::visit_own_state(StateVisitor& visitor) {
  for (const ParamSlice& slice : policy_.spec().layout.slices())
    visitor.array(path("target_" + slice.name), target_actor_.data() + slice.offset, slice.shape, Sharding::replicated,
                  &queue_);
}

// Before its first step, the actor may be one that --init_from has loaded.
void Td3::state_changed() {
  if (actor_updates_ == 0) queue_.copy(target_actor_.data(), policy_.parameters(), target_actor_.size());
  nets_.repack(*target_weights_);
  OffPolicyLearner::state_changed();
}

}  // namespace drl
