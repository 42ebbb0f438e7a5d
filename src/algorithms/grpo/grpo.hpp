// Data-parallel Group Relative Policy Optimization (Shao et al., "DeepSeekMath", arXiv:2402.03300, section 4.1). There
// is no critic: the advantage of an episode compares its return with those of its group, which started from the same
// state. It deviates from the paper in two points. Every step of all episodes has the same weight; the paper averages
// over each episode first, which gives the steps of long episodes less weight. And the policy can become the new
// reference policy every few iterations.
//
// Every rollout starts with a reset and is as long as the task's step limit, so the environments are not part of the
// state. Steps after the end of an environment's first episode count as environment steps, but are not used for
// learning.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/grpo/grpo_kernels.hpp"
#include "algorithms/grpo/options.hpp"
#include "algorithms/grpo/presets.hpp"
#include "algorithms/loss_gradient.hpp"
#include "algorithms/on_policy_learner.hpp"

namespace drl {

class Grpo final : public OnPolicyLearner {
 public:
  using Options = GrpoOptions;
  static constexpr AlgorithmTraits kTraits{.name = "grpo", .title = "GRPO", .collects_episodes = true};
  static std::span<const PresetDeviation> presets() { return kGrpoPresets; }
  // Plans rollouts of one episode per environment. Throws UsageError if the task has no step limit, or if the
  // environments do not divide evenly into groups, shards and mini-batches.
  static BatchPlan plan(const GrpoOptions& options, BatchPlan requested, const TaskSpec& task);

  Grpo(const LearnerParts& parts, const GrpoOptions& options);

  std::vector<Metric> metrics() const override;
  void state_changed() override;

 private:
  void begin(int64_t iteration) override;
  void collect() override;
  void compute_targets() override;
  void compute_reference();
  void compute_gradient() override;
  void read() override;
  void visit_own_state(StateVisitor& visitor) override;

  GrpoOptions options_;
  int64_t groups_;                         // number of groups on this rank
  Slots::Place deviations_;                // the columns of GroupColumns
  Array<float> reference_;                 // the reference policy's parameters
  std::optional<Actor> reference_policy_;  // none if kl_coef is 0: then no loss needs it
  Array<float> reference_log_prob_;        // [T, N]
  Array<float> total_, advantage_;         // [N] return and advantage of each environment's first episode
  Array<int32_t> length_;                  // [N] its length in steps
  Array<double> deviation_;                // [groups] standard deviation of the returns
  Array<double> scratch_;
  LossGradient gradient_;
  double group_std_ = 0, equal_groups_ = 0;  // means over all groups
};

}  // namespace drl
