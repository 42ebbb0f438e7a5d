// The base of on-policy algorithms. An iteration
//   1. collects a rollout,
//   2. sums the rollout's statistics over all ranks, in one float64 all-reduce,
//   3. takes one Adam step for each mini-batch of each epoch, with one float32 all-reduce of the gradient each,
//   4. copies the metrics and statistics to the host.
// Each epoch permutes the samples anew. The adaptive learning rate follows the KL divergence as in rsl_rl, except that
// it does not change on an iteration's first mini-batch, where the true KL is 0.
//
// All work is enqueued on a Queue. A GPU records it once as a few graphs and then launches those; a collection in which
// the host steps the environments is not recorded. Apart from such a collection and from a task's curriculum, the host
// waits once per iteration, for the copies of step 4.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/batch_plan.hpp"
#include "algorithms/collector.hpp"
#include "algorithms/options.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/array.hpp"
#include "device/fingerprint.hpp"
#include "nets/nets.hpp"
#include "policy/actor.hpp"

namespace drl {

// Sees each rollout of a learner, for diagnosis.
class RolloutWatch {
 public:
  virtual ~RolloutWatch() = default;
  // Enqueues work before the first step of a rollout, whose row 0 holds the observations. May allocate memory in its
  // first call only, because later ones may be recorded in a graph.
  virtual void rollout_begins(Queue& queue, VecEnv& envs, const RolloutView& rollout) = 0;
  // Called on the host when the iteration's work is done. `first_step` is the lifetime step of row 0, and `episodes`
  // are the sums over all ranks. Row 0 may already hold the next rollout's observations.
  virtual void rollout_ended(int64_t iteration, int64_t first_step, const RolloutView& rollout,
                             const EpisodeSums& episodes) = 0;
};

// The parts of a learner. The caller owns the referenced objects, and `queue`, `nets` and `envs` must outlive the
// learner. `nets` must have the layout of `spec`. If `graphs` is false, a GPU's kernels are launched one at a time.
struct LearnerParts {
  Queue& queue;
  const PolicyOptions& policy;
  BatchPlan plan;
  uint64_t seed;
  const PolicySpec& spec;
  Nets& nets;
  VecEnv& envs;
  bool graphs = true;
  RolloutWatch* watch = nullptr;  // null: nobody watches
};

// Returns the learning rate of an iteration for the schedules "fixed" and "linear".
double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration);
// Returns a warning, with the option to give, if some of the iterations that remain after the first `done` of
// `max_iterations` are beyond the linear schedule, where the learning rate is 0; otherwise "". `section` is that of the
// options ("ppo").
std::string warning_of_schedule(const UpdateOptions& options, std::string_view section, int64_t done,
                                int64_t max_iterations);

// Offsets of the parts of the iteration's float64 all-reduce. The training loop's own sums come first, at 0.
struct ReduceLayout {
  size_t rollout = 0;              // the algorithm's sums over the rollout
  size_t episodes = 0;             // sums over finished episodes (EpisodeSums)
  size_t obs = 0, critic_obs = 0;  // moments of observations
  size_t fingerprints = 0;         // one slot per rank: the fingerprint of its replicated state
  size_t not_finite = 0;           // one slot per rank: 1 if its sums are not finite
  size_t size = 0;
};

struct Normalizers {
  NormalizerView obs, critic_obs;
  // Returns the normaliser of the critic's input. A critic without its own observations gets the actor's.
  NormalizerView critic() const { return critic_obs.mean ? critic_obs : obs; }
};

class OnPolicy : public Algorithm {
 public:
  void iterate(int64_t iteration, Communicator& comm, std::span<double> extra_sums) final;
  const IterationStats& stats() const final { return stats_; }
  int64_t env_steps_per_iteration() const final { return rollout_.view().samples(); }
  std::span<const double> fingerprints() const final {
    return std::span<const double>(host_reduced_)
        .subspan(offsets_.fingerprints, offsets_.not_finite - offsets_.fingerprints);
  }
  std::vector<uint64_t> field_fingerprints() const final { return fingerprints_->by_field(); }
  // Visits the state that is replicated on all ranks. Algorithms whose environments persist across iterations override
  // this to add theirs.
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;
  void set_learning_rate(double learning_rate) final;
  PolicyView policy() final { return {host_parameters(), host_normalizers().obs}; }

  // Copies the parameters to host memory and returns them; valid until the next call.
  std::span<const float> host_parameters();
  Normalizers host_normalizers() const { return {obs_normalizer_.host_view(), critic_normalizer_.host_view()}; }
  const RolloutView& rollout() const { return rollout_.view(); }

 protected:
  // Sizes that depend on the algorithm: the number of its sums over a rollout, which are reduced over the ranks, and
  // the number of columns of its loss. Error messages about numbers that are not finite suggest lowering the options
  // that `remedy` names.
  struct Shape {
    size_t rollout_sums;
    int loss_columns;
    std::string remedy;
  };
  // Throws UsageError if the options contradict each other.
  OnPolicy(const LearnerParts& parts, const UpdateOptions& options, Shape shape);

  // The hooks of an iteration, in the order in which they are called. With graphs, the enqueue functions are no longer
  // called once their work is recorded.

  // Called before any of the iteration's work is enqueued. Work that it enqueues is never recorded in a graph.
  virtual void prepare_iteration(int64_t /*iteration*/) {}
  // Enqueues work before the rollout's first step.
  virtual void enqueue_before_rollout(const int64_t* /*lifetime_step*/) {}
  // Enqueues the computation of advantages from the finished rollout. Also enqueues writing this rank's sums to out
  // [rollout_sums].
  virtual void enqueue_rollout_sums(double* out) = 0;
  // Enqueues `reset`, and any work before the first mini-batch. `sums` are the rollout sums over all ranks.
  virtual void enqueue_before_update(const ResetUpdateNumbers& reset, const double* /*sums*/) {
    for_each(queue_, 1, reset);
  }
  // Enqueues work before each mini-batch; `numbers`->mini_batch is its index in the iteration.
  virtual void enqueue_before_mini_batch(const UpdateNumbers* /*numbers*/, const double* /*sums*/) {}
  // Enqueues work after the last mini-batch.
  virtual void enqueue_after_update() {}
  // Called on the host after the iteration, when rollout_sums() are available, to prepare the next one.
  virtual void end_iteration() {}

  // Sets the loss. Every constructor of a derived class must call this once. `loss` is a function of rows
  // (device/reduce.hpp) with a member `LossTile tile`, which is set for each tile of a mini-batch.
  template <class Loss>
  void set_loss(LossId id, const Loss& loss) {
    const auto kept = std::make_shared<const Loss>(loss);
    loss_id_ = id, loss_ = kept;
    add_loss_ = [this, kept](const int32_t* rows, int64_t count) {
      Loss of_tile = *kept;
      of_tile.tile = tile_, of_tile.tile.rows = rows;
      add_rows(queue_, count, loss_columns(), loss_scratch_.data(), of_tile);
    };
  }

  // Visits `numbers`, which are laid out as the parameters are, as one field without the padding.
  void visit_parameters(StateVisitor& visitor, const std::string& name, float* numbers);

  // Returns the mean of a loss column over the samples of the last iteration's mini-batches.
  double mean(int column) const { return host_numbers_[0].sums[column] / host_numbers_[0].sums[kSamples]; }
  // Returns the last iteration's sums over the rollout, summed over all ranks.
  std::span<const double> rollout_sums() const { return rollout_sums_; }
  // Returns the assignment of samples to mini-batches.
  MiniBatches mini_batches() const { return {plan_, seed_}; }
  const UpdateInputs* inputs() const { return inputs_.data(); }
  double gradient_norm() const;
  double learning_rate() const { return host_numbers_[0].learning_rate; }
  double action_std() const;  // mean over dimensions; NaN for discrete actions

  Queue& queue() const { return queue_; }
  Nets& nets() const { return nets_; }
  const Weights& weights() const { return actor_.weights(); }
  VecEnv& envs() const { return envs_; }
  const PolicySpec& spec() const { return spec_; }
  Rollout& rollout_arrays() { return rollout_; }
  const Distribution& distribution() const { return actor_.distribution(); }
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }
  float* params() { return state_.data(); }
  double* scratch() { return scratch_.data(); }  // scratch memory for sums over a rollout
  int64_t count() const { return count_; }       // floats in the parameter buffer
  // Return the number of samples that pass through the networks at once, and the buffers between networks and loss.
  int64_t tile_rows() const { return std::min(nets_.tile(), plan_.rows()); }
  const LossTile& tile() const { return tile_; }

 private:
  // Part of an iteration's work that a GPU records as a graph, and the communication in it.
  struct Recorded {
    std::unique_ptr<RecordedWork> recording;
    CommStats comm;
  };

  int64_t loss_columns() const { return shape_.loss_columns + free_parameters(distribution()); }
  void prepare(size_t extra_sums, Communicator& comm);
  void set_inputs(int64_t iteration, std::span<const double> extra_sums);
  void enqueue_collection();
  void enqueue_reduction(Communicator& comm);
  void enqueue_mini_batch(Communicator& comm);
  void enqueue_gradient();
  void enqueue_outputs();
  void run(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void require_finite(std::span<const double> reduced, int world_size) const;
  void read_outputs(Communicator& comm, std::span<double> extra_sums);

  Queue& queue_;
  UpdateOptions options_;
  PolicyOptions policy_;
  Shape shape_;
  BatchPlan plan_;
  uint64_t seed_;
  PolicySpec spec_;
  Nets& nets_;
  VecEnv& envs_;
  RolloutWatch* watch_;
  bool graphs_;
  int64_t count_;  // floats in the parameter buffer
  Rollout rollout_;
  Array<float> state_;     // parameters, then Adam's moments m and v
  Array<float> gradient_;  // [count_ + loss columns]
  Array<UpdateNumbers> numbers_, host_numbers_;
  Array<UpdateInputs> inputs_, host_inputs_;
  Normalizer obs_normalizer_, critic_normalizer_;
  Actor actor_;
  Collector collector_;

  // A network's buffers for a tile: its outputs, and the loss's gradient with respect to them.
  struct Pass {
    std::unique_ptr<Tape> tape;
    Array<float> out, d_out;  // [tile, outputs]
  };
  std::vector<Pass> passes_;  // actor, and critic if there is one
  LossTile tile_;             // points to the arrays of passes_
  LossId loss_id_{};
  std::shared_ptr<const void> loss_;
  std::function<void(const int32_t* rows, int64_t count)> add_loss_;

  Array<int32_t> rows_;  // the current mini-batch's samples, indices into the rollout
  Array<double> scratch_, loss_scratch_;
  Array<float> host_params_, host_std_;

  // These are created by the first iteration, which knows the number of extra sums.
  ReduceLayout offsets_;
  std::unique_ptr<Fingerprints> fingerprints_;
  Array<double> reduced_, host_reduced_;
  bool warm_ = false;  // the first iteration is never recorded: libraries load their kernels in it
  std::unique_ptr<Queue::Event> began_, collected_, ended_;
  Recorded collection_, reduction_, mini_batch_, end_;
  std::vector<double> rollout_sums_;
  IterationStats stats_;
};

}  // namespace drl
