// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), modelled on that of rsl_rl. It
// deviates from rsl_rl as all on-policy algorithms here do (on_policy.hpp) and in two more points: time-outs bootstrap
// from the episode's true last observation, and advantages and observations are normalised with the moments of all
// ranks.
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
  static constexpr bool kHasCritic = true, kCollectsEpisodes = false;
  // The tasks' presets are already made for PPO.
  static std::string_view preset(std::string_view /*task*/) { return ""; }
  // Throws UsageError if the options contradict each other or the environments do not divide evenly.
  static BatchPlan plan(const PpoOptions& options, BatchPlan requested, const TaskSpec& task);

  Ppo(const LearnerParts& parts, const PpoOptions& options);

  std::vector<Metric> metrics() const override;
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;

 private:
  void enqueue_rollout_sums(double* out) override;
  void enqueue_before_update(const ResetUpdateNumbers& begin, const double* sums) override;
  void enqueue_before_mini_batch(const UpdateNumbers* numbers, const double* sums) override;
  void enqueue_after_update() override;
  void end_iteration() override;

  PpoOptions options_;
  Array<LossSettings> settings_;
  Array<float> last_values_;        // [last_rows, N]
  Normalizer reward_normalizer_;    // normalises rewards by the moments of discounted returns; frozen in an iteration
  Array<float> discounted_return_;  // [N], each environment's running discounted return, continued across rollouts
};

}  // namespace drl
