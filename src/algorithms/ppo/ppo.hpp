// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), modelled on that of rsl_rl. Each
// epoch permutes the samples anew. The adaptive learning rate follows the KL divergence as in rsl_rl, except that it
// does not change on an iteration's first mini-batch, where the true KL is 0. Two more points differ from rsl_rl:
// time-outs bootstrap from the episode's true last observation, and advantages and observations are normalised with the
// moments of all ranks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/loss_gradient.hpp"
#include "algorithms/on_policy_learner.hpp"
#include "algorithms/ppo/options.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "algorithms/ppo/recurrent_critic.hpp"
#include "algorithms/ppo/rnd.hpp"
#include "algorithms/reward_normalizer.hpp"

namespace drl {

class Ppo final : public OnPolicyLearner {
 public:
  using Options = PpoOptions;
  static constexpr AlgorithmTraits kTraits{.name = "ppo", .title = "PPO", .has_critic = true};
  // Throws UsageError if the options contradict each other or the environments do not divide evenly.
  static BatchPlan plan(const PpoOptions& options, BatchPlan requested, const TaskSpec& task);
  static void check(const PpoOptions& options, const PolicyOptions& policy);  // throws UsageError too

  Ppo(const LearnerParts& parts, const PpoOptions& options);

  std::vector<Metric> metrics() const override;
  void state_changed() override;

 private:
  void collect() override;
  void compute_targets() override;
  void compute_values();
  void compute_advantages();
  void begin_update() override;
  void compute_gradient() override;
  void take_step() override;
  void end() override;
  void read() override;
  void visit_own_state(StateVisitor& visitor) override;
  bool per_mini_batch() const { return options_.normalize_advantage_per_mini_batch; }

  Nets& nets_;
  PpoOptions options_;
  Slots::Place moments_;  // n, sum and sum of squares of advantages, then of returns
  RewardNormalizer rewards_;
  Slots::Place mini_batch_moments_;  // [mini-batches, 2] of advantages, if they are normalised per mini-batch
  Array<LossSettings> settings_;
  LossGradient gradient_;
  Array<float> last_values_;  // [last_rows, N]
  Array<double> scratch_;
  double explained_variance_ = 0;
  std::optional<RecurrentCritic> recurrent_critic_;  // if the critic has recurrent layers
  std::optional<RandomNetworkDistillation> rnd_;     // if ppo.rnd.weight is above 0
};

}  // namespace drl
