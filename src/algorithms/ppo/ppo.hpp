// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), behaving as rsl_rl's. Deviations
// beside those of all on-policy algorithms here: time-outs bootstrap from the episode's true last observation;
// advantages and normalisers use moments of all ranks.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "algorithms/on_policy.hpp"
#include "algorithms/ppo/options.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"

namespace drl {

class Ppo final : public OnPolicy {
 public:
  using Options = PpoOptions;
  static constexpr std::string_view kName = "ppo", kTitle = "PPO";
  static constexpr bool kHasCritic = true;
  // Tasks' presets are this algorithm's.
  static std::string_view preset(std::string_view /*task*/) { return ""; }
  // Throws UsageError unless everything divides.
  static BatchPlan plan(const PpoOptions& options, BatchPlan asked, const TaskSpec& task);

  Ppo(const LearnerParts& parts, const PpoOptions& options);

  std::vector<Metric> metrics() const override;
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;

 private:
  void enqueue_rollout_sums(double* out) override;
  void enqueue_begin(const BeginUpdate& begin, const double* sums) override;
  void enqueue_round(const UpdateNumbers* numbers, const double* sums) override;
  void enqueue_end() override;
  void end_iteration() override;

  PpoOptions options_;
  Array<LossSettings> settings_;
  Array<float> last_values_;  // [last_rows, N]
  // Of rewards, by the moments of their discounted returns, which go on in [N]; frozen while an iteration goes on.
  Normalizer reward_normalizer_;
  Array<float> discounted_return_;
};

}  // namespace drl
