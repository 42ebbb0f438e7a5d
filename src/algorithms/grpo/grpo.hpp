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

#include "algorithms/algorithm.hpp"
#include "algorithms/grpo/grpo_kernels.hpp"
#include "algorithms/grpo/options.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/loss_gradient.hpp"
#include "algorithms/on_policy_loop.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/rounds.hpp"
#include "algorithms/sampler.hpp"
#include "algorithms/slots.hpp"

namespace drl {

class Grpo final : public Algorithm {
 public:
  using Options = GrpoOptions;
  static constexpr std::string_view kName = "grpo", kTitle = "GRPO";
  static constexpr bool kHasCritic = false, kCollectsEpisodes = true;
  // Plans rollouts of one episode per environment. Throws UsageError if the task has no step limit, or if the
  // environments do not divide evenly into groups, shards and mini-batches.
  static BatchPlan plan(const GrpoOptions& options, BatchPlan requested, const TaskSpec& task);

  Grpo(const LearnerParts& parts, const GrpoOptions& options);

  void iterate(int64_t iteration, Communicator& comm, std::span<double> loop_sums) override;
  const IterationStats& stats() const override { return stats_; }
  std::vector<Metric> metrics() const override;
  int64_t env_steps_per_iteration() const override { return rollout().samples(); }
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;
  PolicyView policy() override { return policy_.view(); }
  void restart_learning_rate() override { optimizer_.restart_learning_rate(); }
  std::span<const double> fingerprints() const override { return slots_.fingerprints(); }
  std::vector<uint64_t> field_fingerprints() const override { return slots_.field_fingerprints(); }

  std::span<const float> host_parameters() { return policy_.host_parameters(); }
  Normalizers host_normalizers() const { return policy_.host_normalizers(); }
  const RolloutView& rollout() const { return sampler_.view(); }

 private:
  void renew_reference(int64_t iteration);
  void collect();
  void reduce(Communicator& comm);
  void compute_reference();
  void update(Communicator& comm);
  void end();
  void read(std::span<double> loop_sums);

  Queue& queue_;
  GrpoOptions options_;
  int64_t groups_;  // number of groups on this rank
  Slots slots_;
  Slots::Place deviations_;  // the columns of GroupColumns
  LearnedPolicy policy_;
  Sampler sampler_;
  Rounds rounds_;
  Optimizer optimizer_;
  Array<float> reference_;                 // the reference policy's parameters
  std::optional<Actor> reference_policy_;  // none if kl_coef is 0: then no loss needs it
  Array<float> reference_log_prob_;        // [T, N]
  Array<float> total_, advantage_;         // [N] return and advantage of each environment's first episode
  Array<int32_t> length_;                  // [N] its length in steps
  Array<double> deviation_;                // [groups] standard deviation of the returns
  Array<double> scratch_;
  LossGradient gradient_;
  OnPolicyLoop loop_;
  double group_std_ = 0, equal_groups_ = 0;  // means over all groups
  IterationStats stats_;
};

}  // namespace drl
