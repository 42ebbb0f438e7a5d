// Data-parallel Soft Actor-Critic (Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", arXiv:1812.05905).
// Its actor draws actions, and the temperature weighs their entropy so that it stays near target_entropy. The
// temperature takes its steps together with the actor, and shares the actor's all-reduce.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "algorithms/off_policy_learner.hpp"
#include "algorithms/sac/options.hpp"
#include "algorithms/sac/sac_kernels.hpp"

namespace drl {

class Sac final : public OffPolicyLearner {
 public:
  using Options = SacOptions;
  static constexpr AlgorithmTraits kTraits{.name = "sac", .title = "SAC", .has_critic = true, .is_off_policy = true};
  static std::span<const PresetDeviation> presets();
  static BatchPlan plan(const SacOptions& options, const BatchPlan& requested, const TaskSpec& task) {
    return plan_of(kTraits, options, requested, task);
  }
  static void check(const SacOptions& options, const PolicyOptions& policy);  // throws UsageError

  Sac(const LearnerParts& parts, const SacOptions& options);
  std::vector<Metric> metrics() const override;

 private:
  void act_next(const Tile& tile) override;
  void act(const Tile& tile) override;
  void add_actor_loss(const Tile& tile) override;
  void before_all_reduce_of_actor() override;
  void after_actor_step() override;
  const float* log_temperature() const override { return temperature_.data(); }
  std::vector<Optimizer*> more_optimizers() override { return {&temperature_optimizer_}; }
  void enqueue_end() override { queue_.copy(host_temperature_.data(), temperature_.data(), 1); }
  void visit_own_state(StateVisitor& visitor) override;
  const SquashedStateGaussian& distribution() { return std::get<SquashedStateGaussian>(policy_.distribution()); }
  void draw(const ActionNoise& noise, const Tile& tile);

  SacOptions own_options_;
  ParamLayout temperature_layout_;
  Array<float> temperature_, host_temperature_;  // its logarithm
  Optimizer temperature_optimizer_;
};

}  // namespace drl
