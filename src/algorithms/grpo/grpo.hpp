// Data-parallel Group Relative Policy Optimization (Shao et al., "DeepSeekMath", arXiv:2402.03300, section 4.1): no
// critic; an episode is as good as its return is among those of its group, which began in the same state. Deviations:
// each step of all episodes weighs the same (the paper's mean over an output's length first makes steps of long
// episodes weigh less); the reference policy may follow the learner every few iterations.
//
// Environments begin anew with every rollout, which is as long as the task's step limit: so nothing of them is state.
// Steps that an environment makes after its episode's end are counted as steps, but teach nothing.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/grpo/grpo_kernels.hpp"
#include "algorithms/grpo/options.hpp"
#include "algorithms/on_policy.hpp"

namespace drl {

class Grpo final : public OnPolicy {
 public:
  using Options = GrpoOptions;
  static constexpr std::string_view kName = "grpo", kTitle = "GRPO";
  static constexpr bool kHasCritic = false;
  static std::string_view preset(std::string_view task);
  // One episode of each environment. Throws UsageError unless episodes end and everything divides.
  static BatchPlan plan(const GrpoOptions& options, BatchPlan asked, const TaskSpec& task);

  Grpo(const LearnerParts& parts, const GrpoOptions& options);

  std::vector<Metric> metrics() const override;
  void visit_state(StateVisitor& visitor) override;

 private:
  void prepare_iteration(int64_t iteration) override;
  void enqueue_start(const int64_t* lifetime_step) override;
  void enqueue_rollout_sums(double* out) override;
  void enqueue_reference();

  GrpoOptions options_;
  int64_t groups_;          // of this rank
  Array<float> reference_;  // the reference policy's parameters
  ActionDistribution reference_distribution_;
  Array<float> reference_log_prob_;  // [T, N]
  Array<float> total_, advantage_;   // [N]
  Array<int32_t> length_;            // [N]
  Array<double> deviation_;          // [groups]
};

}  // namespace drl
