// The base of off-policy learners, for continuous, bounded actions. An iteration takes num_steps_per_env steps of the
// environments. After each step,
//   1. the transitions are stored in the replay buffer, of which each rank has the part of its environments,
//   2. each of `updates_per_step` updates draws a batch from it, and takes an Adam step of the two critics, whose
//      targets come from slowly moving copies of them,
//   3. every policy_delay-th update takes steps of the actor.
// Each Adam step of critics or actor needs one float32 all-reduce, and each iteration one float64 all-reduce (Slots).
// Time-outs bootstrap from the episode's true last observation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/off_policy_kernels.hpp"
#include "algorithms/off_policy_options.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/recorder.hpp"
#include "algorithms/replay.hpp"
#include "algorithms/reward_normalizer.hpp"
#include "algorithms/sampler.hpp"
#include "algorithms/transition_batch.hpp"
#include "algorithms/value_distribution.hpp"

namespace drl {

class OffPolicyLearner : public Algorithm {
 public:
  void iterate(int64_t iteration, Communicator& comm) final;
  Slots& slots() override { return slots_; }
  const IterationStats& stats() const override { return stats_; }
  std::vector<Metric> metrics() const override;
  int64_t env_steps_per_iteration() const override { return rollout().samples(); }
  void visit_state(StateVisitor& visitor) final;
  void state_changed() override;
  PolicyView policy() override { return policy_.view(); }
  void restart_learning_rate() override;

  // Enqueues one update from the replay buffer, with its all-reduces.
  void enqueue_update(Communicator& comm);
  const Replay& replay() const { return replay_; }
  const RolloutView& rollout() const { return sampler_.view(); }
  const ParamLayout& critic_layout() const { return critic_nets_->layout(); }  // of kCritics networks

 protected:
  struct Traits {
    AlgorithmTraits algorithm;
    ActionChoice choice;          // of actions for the environments
    float action_noise = 0;       // see ActionSource
    bool repeats_actor = false;   // the actor takes policy_delay steps at once, instead of one
    bool delays_targets = false;  // the target critics move with the actor's steps only
  };
  OffPolicyLearner(const LearnerParts& parts, const OffPolicyOptions& options, const Traits& traits);

  // Throws UsageError if the task's actions are discrete, or if batch and replay buffer are too small
  // or cannot be divided among the ranks.
  static BatchPlan plan_of(const AlgorithmTraits& traits, const OffPolicyOptions& options, BatchPlan requested,
                           const TaskSpec& task);
  // Throws UsageError if the policy is recurrent, or if residual critics have layers of different widths.
  static void check_networks(const AlgorithmTraits& traits, const OffPolicyOptions& options,
                             const PolicyOptions& policy);

  // The samples [first, first + count) of this rank's part of a batch, which pass through the networks at once.
  struct Tile {
    int64_t first, count;
  };
  // Derived learners implement these; each enqueues work. The inputs of the critics are [tile, observations + actions].
  // Writes the actions for the outputs out_ of the network with weights_of_next_actions() to input_, which has the
  // observations, and their log-probabilities to log_prob_ if there is a temperature.
  virtual void act_next(const Tile& tile) = 0;
  virtual const Weights& weights_of_next_actions() { return policy_.weights(); }
  // Writes the current actor's actions for the outputs out_ of its network, likewise.
  virtual void act(const Tile& tile) = 0;
  // Adds the actor's loss to scratch_, and writes its gradient with respect to out_ to d_out_. The critics have
  // computed q_ for act()'s actions, and d_input_.
  virtual void add_actor_loss(const Tile& tile) = 0;
  virtual void before_all_reduce_of_actor() {}
  virtual void after_actor_step() {}
  virtual Critics critics_of_actor() const { return of_options(); }  // in the actor's loss
  virtual const float* log_temperature() const { return nullptr; }   // null: the targets have no entropy
  virtual std::vector<Optimizer*> more_optimizers() { return {}; }
  virtual void enqueue_end() {}
  virtual void visit_own_state(StateVisitor& /*visitor*/) {}

  ActionNoise noise(Purpose purpose, int64_t step, const Tile& tile) const;
  CriticValues values(Critics use) const { return {{q_[0].data(), q_[1].data()}, use}; }
  Critics of_options() const { return options_.critics == "mean" ? Critics::mean : Critics::smaller; }
  int64_t critic_obs() const { return replay_.view().critic_dim(); }
  // Adam (or AdamW) without clipping, and with a constant learning rate.
  OptimizerSettings adam(const char* name, const ParamLayout& layout, double rate, int columns,
                         double weight_decay = 0) const;
  std::string path(const std::string& name) const { return std::string(traits_.algorithm.name) + "/" + name; }

  Queue& queue_;
  OffPolicyOptions options_;
  Traits traits_;
  BatchPlan plan_;
  uint64_t seed_;
  Slots slots_;
  LearnedPolicy policy_;
  Sampler sampler_;
  Replay replay_;
  TransitionBatch batch_;
  RewardNormalizer rewards_;
  Nets& nets_;  // of the actor
  std::unique_ptr<Nets> critic_nets_;
  Array<float> critics_, targets_;  // their parameters
  Gradients critic_gradients_, actor_gradients_;
  Optimizer critic_optimizer_, actor_optimizer_;
  int64_t updates_ = 0, actor_updates_ = 0;  // in the run so far

  int64_t tile_rows_;
  Array<float> target_;                       // [tile], or [tile, atoms]
  Array<float> out_, d_out_;                  // [tile, outputs of the actor]
  Array<float> input_, d_input_[kCritics];    // [tile, critic's observations + action size]
  Array<float> q_[kCritics], d_q_[kCritics];  // [tile]
  Array<float> of_atoms_[kCritics];           // [tile, atoms], see critic_out(); empty: critics have one output
  Array<float> log_prob_;                     // [tile]
  Array<double> scratch_;

 private:
  template <class Work>
  void for_each_tile(const Work& work);
  int64_t transitions() const;  // in the replay buffers of all ranks
  std::vector<Optimizer*> optimizers();
  void repack_critics();
  // Returns reward_scale / max(standard deviation of returns, their largest magnitude / reward_limit), as in SimbaV2
  // (Lee et al., "Hyperspherical Normalization for Scalable Deep Reinforcement Learning", arXiv:2502.15280).
  double reward_scale() const;
  void choose_samples();
  void step_critics(Communicator& comm);
  void move_targets();
  void step_actor(Communicator& comm);
  void compute_targets(const Tile& tile);
  void critic_gradient(const Tile& tile);
  void actor_gradient(const Tile& tile);
  void join_inputs(const float* obs, const float* action, const Tile& tile);
  Atoms atoms() const {
    return {options_.atoms, static_cast<float>(options_.value_min), static_cast<float>(options_.value_max)};
  }
  bool has_atoms() const { return options_.atoms > 1; }
  // Return a critic's outputs after forward_critics(), its value or its atoms' probabilities, and the array for the
  // derivatives with respect to them, which takes the place of probabilities.
  float* critic_out(NetId c) { return has_atoms() ? of_atoms_[c].data() : q_[c].data(); }
  float* critic_d_out(NetId c) { return has_atoms() ? of_atoms_[c].data() : d_q_[c].data(); }
  // Computes q_ of the inputs in input_.
  void forward_critics(const Weights& weights, const Tile& tile, bool with_tapes);

  std::unique_ptr<Weights> critic_weights_, target_weights_;
  std::unique_ptr<Tape> actor_tape_, critic_tapes_[kCritics];
  Array<int64_t> lifetime_step_, host_lifetime_step_;
  std::vector<PhaseClock> clocks_;  // of the iteration's steps
  IterationStats stats_;
};

}  // namespace drl
