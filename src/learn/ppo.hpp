// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), behaving as rsl_rl's. Deviations:
// time-outs bootstrap from the episode's true last observation; advantages and normaliser use moments of all ranks;
// each epoch has a permutation of its own; the learning rate stays put on an iteration's first mini-batch, whose true
// KL is 0; actor and critic are clipped separately.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "learn/adam.hpp"
#include "learn/algorithm.hpp"
#include "learn/engine.hpp"
#include "learn/options.hpp"
#include "learn/permutation.hpp"

namespace drl {

// How the work is cut up. Environments [0, num_envs * world_size) lie in `shards` equal shards by global index; this
// rank owns shards / world_size of them. Mini-batch m is the union over all shards of slice m of each shard's
// permutation.
struct BatchPlan {
  int64_t num_envs = 0;   // of this rank
  int64_t num_steps = 0;  // of a rollout
  int rank = 0, world_size = 1;
  int shards = 1;  // over all ranks
  int num_mini_batches = 1;

  DRL_HD int local_shards() const { return shards / world_size; }
  DRL_HD int64_t envs_per_shard() const { return num_envs / local_shards(); }
  DRL_HD int64_t samples_per_shard() const { return envs_per_shard() * num_steps; }
  DRL_HD int64_t rows_per_shard() const { return samples_per_shard() / num_mini_batches; }  // of one mini-batch
  // Throws UsageError unless everything divides, naming the nearest numbers of environments that do.
  void check() const;
};

// This rank's rows of mini-batch `m` of one epoch: rows_per_shard for each of its shards, into rows.
void mini_batch_rows(const BatchPlan& plan, uint64_t seed, int64_t iteration, int epoch, int m,
                     std::vector<int32_t>& rows);

// Sample i of a shard's permutation, as an index into the rollout [T * num_envs] whose shard begins at `first_env`.
DRL_HD int32_t rollout_row(const Permutation& permutation, uint32_t i, uint32_t envs_per_shard, int64_t num_envs,
                           int64_t first_env) {
  const uint32_t sample = permutation(i);  // step * envs + environment, within the shard
  const uint32_t step = sample / envs_per_shard, env = sample % envs_per_shard;
  return static_cast<int32_t>(step * num_envs + env + first_env);
}

// The adaptive rule: mean KL above twice the desired one divides by 1.5 (not below 1e-5), below half of it multiplies
// by 1.5 (not above 1e-2).
DRL_HD double adapted_learning_rate(double learning_rate, double kl, double desired_kl) {
  if (kl > 2 * desired_kl) return math::max(1e-5, learning_rate / 1.5);
  if (kl < desired_kl / 2 && kl > 0) return math::min(1e-2, learning_rate * 1.5);
  return learning_rate;
}

// Throws UsageError unless the options fit together.
void check_ppo(const PolicyOptions& policy, const BatchPlan& plan);

// All but the advantages' moments.
LossSettings loss_settings(const PpoOptions& options);

// Of schedules fixed and linear.
double scheduled_learning_rate(const PpoOptions& options, int64_t iteration);

// Within which project_std keeps the parameters behind the standard deviation, without stopping their gradient there.
struct StdBounds {
  float low, high;
};
StdBounds std_bounds(const PolicyOptions& policy);

class Ppo final : public Algorithm {
 public:
  // `envs` and `engine` stay the caller's.
  Ppo(const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed, VecEnv& envs,
      Engine& engine);

  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) override;
  const IterationStats& stats() const override { return stats_; }
  int64_t env_steps_per_iteration() const override { return rollout_.samples(); }
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;

  // From now on, whatever the state says.
  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }
  std::span<const float> parameters() const { return params_; }
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }

 private:
  void collect();
  void bootstrap_truncated();
  void compute_advantages();
  void reduce_iteration(Communicator& comm, std::span<double> riders);
  void update(int64_t iteration, Communicator& comm);
  void step_mini_batch(int64_t iteration, int epoch, int m, Communicator& comm);
  void apply_gradient(const LossSums& sums, bool first);
  void project_std();

  PpoOptions options_;
  PolicyOptions policy_;
  BatchPlan plan_;
  uint64_t seed_;
  VecEnv& envs_;
  Engine& engine_;
  Rollout rollout_;
  Array<float> params_;    // [parameters]
  Array<float> gradient_;  // [parameters + kTailSize]
  Adam adam_;
  Normalizer obs_normalizer_, critic_normalizer_;
  int64_t std_offset_, first_critic_;
  double learning_rate_;
  int64_t lifetime_step_ = 0;  // of the environments, at the rollout's row 0

  std::vector<double> reduced_;         // the float64 all-reduce's buffer
  std::array<size_t, 2> moments_at_{};  // where the observation moments lie in it
  std::vector<int32_t> rows_;
  std::vector<float> final_obs_, final_values_;
  std::vector<int32_t> truncated_rows_;
  LossSettings loss_;
  LossSums update_sums_;
  double gradient_norm_sum_ = 0;
  IterationStats stats_;
};

}  // namespace drl
