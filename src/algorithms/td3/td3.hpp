// Data-parallel TD3 (Fujimoto et al., "Addressing Function Approximation Error in Actor-Critic Methods",
// arXiv:1802.09477): a deterministic actor, which explores by added noise. The targets use a slowly moving copy of the
// actor with clipped noise, and all copies move with the actor's steps.
#pragma once

#include <memory>
#include <span>

#include "algorithms/off_policy_learner.hpp"
#include "algorithms/td3/options.hpp"
#include "algorithms/td3/td3_kernels.hpp"

namespace drl {

class Td3 final : public OffPolicyLearner {
 public:
  using Options = Td3Options;
  static constexpr AlgorithmTraits kTraits{.name = "td3", .title = "TD3", .has_critic = true, .is_off_policy = true};
  static std::span<const PresetDeviation> presets();
  static BatchPlan plan(const Td3Options& options, const BatchPlan& requested, const TaskSpec& task) {
    return plan_of(kTraits, options, requested, task);
  }
  static void check(const Td3Options& options, const PolicyOptions& policy);  // throws UsageError

  Td3(const LearnerParts& parts, const Td3Options& options);
  void state_changed() override;

 private:
  void act_next(const Tile& tile) override;
  const Weights& weights_of_next_actions() override { return *target_weights_; }
  void act(const Tile& tile) override;
  void add_actor_loss(const Tile& tile) override;
  void after_actor_step() override;
  Critics critics_of_actor() const override { return Critics::first; }
  void visit_own_state(StateVisitor& visitor) override;
  SmoothActions smooth(const ActionNoise& noise, double std);

  Td3Options own_options_;
  Array<float> target_actor_;  // parameters
  std::unique_ptr<Weights> target_weights_;
};

}  // namespace drl
