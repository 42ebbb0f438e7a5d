// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), modelled on that of rsl_rl. An
// iteration
//   1. collects a rollout,
//   2. sums the rollout's statistics over all ranks, in one float64 all-reduce (Slots),
//   3. takes one optimiser step for each mini-batch of each epoch, with one float32 all-reduce of the gradient each,
//   4. copies the metrics and statistics to the host.
// Each epoch permutes the samples anew. The adaptive learning rate follows the KL divergence as in rsl_rl, except that
// it does not change on an iteration's first mini-batch, where the true KL is 0. Two more points differ from rsl_rl:
// time-outs bootstrap from the episode's true last observation, and advantages and observations are normalised with the
// moments of all ranks.
//
// All work is enqueued on a Queue. A GPU records it once as a few graphs and then launches those (OnPolicyLoop); a
// collection in which the host steps the environments is not recorded. Apart from such a collection and from a task's
// curriculum, the host waits once per iteration, for the copies of step 4.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/loss_gradient.hpp"
#include "algorithms/on_policy_loop.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/ppo/options.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "algorithms/ppo/recurrent_critic.hpp"
#include "algorithms/ppo/rnd.hpp"
#include "algorithms/rounds.hpp"
#include "algorithms/sampler.hpp"
#include "algorithms/slots.hpp"

namespace drl {

class Ppo final : public Algorithm {
 public:
  using Options = PpoOptions;
  static constexpr std::string_view kName = "ppo", kTitle = "PPO";
  static constexpr bool kHasCritic = true, kCollectsEpisodes = false;
  // Throws UsageError if the options contradict each other or the environments do not divide evenly.
  static BatchPlan plan(const PpoOptions& options, BatchPlan requested, const TaskSpec& task);
  static void check(const PpoOptions& options, const PolicyOptions& policy);  // throws UsageError too

  Ppo(const LearnerParts& parts, const PpoOptions& options);

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
  void collect();
  void compute_values();
  void compute_advantages();
  void reduce(Communicator& comm);
  void update(Communicator& comm);
  void end();
  void read(std::span<double> loop_sums);
  int loss_columns() const { return kLossColumns + options_.symmetry_use().any(); }
  bool per_mini_batch() const { return options_.normalize_advantage_per_mini_batch; }

  Queue& queue_;
  Nets& nets_;
  PpoOptions options_;
  Slots slots_;
  Slots::Place moments_;             // n, sum and sum of squares of advantages, then of returns
  Slots::Place discounted_;          // n, sum and sum of squares of discounted returns, if rewards are normalised
  Slots::Place mini_batch_moments_;  // [mini-batches, 2] of advantages, if they are normalised per mini-batch
  LearnedPolicy policy_;
  Sampler sampler_;
  Rounds rounds_;
  Optimizer optimizer_;
  Array<LossSettings> settings_;
  LossGradient gradient_;
  OnPolicyLoop loop_;
  Array<float> last_values_;        // [last_rows, N]
  Normalizer reward_normalizer_;    // normalises rewards by the moments of discounted returns; frozen in an iteration
  Array<float> discounted_return_;  // [N], each environment's running discounted return, continued across rollouts
  Array<double> scratch_;
  double explained_variance_ = 0;
  IterationStats stats_;
  std::optional<RecurrentCritic> recurrent_critic_;  // if the critic has recurrent layers
  std::optional<RandomNetworkDistillation> rnd_;     // if ppo.rnd.weight is above 0
};

}  // namespace drl
