// Data-parallel distillation, modelled on rsl_rl's Distillation: a student acts, and learns to act as a teacher, whose
// policy is fixed and may see other observations (Ross et al., "A Reduction of Imitation Learning and Structured
// Prediction to No-Regret Online Learning", arXiv:1011.0686). An iteration
//   1. collects a rollout with the student,
//   2. computes the teacher's actions for all of its steps,
//   3. goes through the rollout in the order of time, `gradient_length` steps of all environments at once, and takes an
//      Adam step after each such segment, with one float32 all-reduce.
// A recurrent student's state at the beginning of a segment is that at the end of the one before, and gradients do not
// go back beyond it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/distill/distill_kernels.hpp"
#include "algorithms/distill/options.hpp"
#include "algorithms/loss_gradient.hpp"
#include "algorithms/on_policy_learner.hpp"

namespace drl {

class Distill final : public OnPolicyLearner {
 public:
  using Options = DistillOptions;
  static constexpr AlgorithmTraits kTraits{.name = "distill", .title = "distillation", .needs_teacher = true};
  static std::span<const PresetDeviation> presets();
  // Throws UsageError if the actions are discrete, or if a rollout does not consist of whole segments.
  static BatchPlan plan(const DistillOptions& options, BatchPlan requested, const TaskSpec& task);
  // Throws UsageError if the policy's options cannot be used.
  static void check(const DistillOptions& options, const PolicyOptions& policy);

  // parts.teacher must exist.
  Distill(const LearnerParts& parts, const DistillOptions& options);

  std::vector<Metric> metrics() const override;
  const Array<float>& labels() const { return labels_; }  // [T, N, action size]

 private:
  void begin(int64_t iteration) override;
  void compute_targets() override;
  void compute_gradient() override;
  void visit_own_state(StateVisitor& visitor) override;
  int segments() const { return rounds_.plan().num_mini_batches; }

  DistillOptions options_;
  Actor teacher_;
  bool teacher_sees_critic_obs_;
  Array<float> labels_;          // [T, N, action size], the teacher's actions
  Array<float> segment_labels_;  // those of the segment
  Array<float> states_;          // [N, state_size], the student's at the beginning of the segment
  Array<int32_t> rows_;          // 0, 1, ..., the segment's samples
  RolloutView segment_;          // the steps of the rollout that the next gradient step uses
  int updates_ = 0;              // in this iteration
  LossGradient gradient_;
};

}  // namespace drl
