// What on-policy algorithms do alike: an iteration collects a rollout, reduces what it is to be learned from over the
// ranks, and takes epochs x mini-batches of steps by Adam, whose learning rate may follow the KL divergence as rsl_rl's
// does. Each epoch has a permutation of its own; the learning rate stays put on an iteration's first mini-batch, whose
// true KL is 0.
//
// All of it is enqueued, on a CPU as on a GPU, where it is recorded once and launched as a few graphs; the host waits
// once an iteration, for the numbers that it reports.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/actor_critic.hpp"
#include "algorithms/algorithm.hpp"
#include "algorithms/batch_plan.hpp"
#include "algorithms/collector.hpp"
#include "algorithms/options.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/array.hpp"
#include "device/fingerprint.hpp"
#include "nets/nets.hpp"

namespace drl {

// What a learner is made of. `queue`, `nets` and `envs` stay the caller's; `nets` are of `spec`. Without `graphs` a
// GPU's kernels are enqueued one by one.
struct LearnerParts {
  Queue& queue;
  const PolicyOptions& policy;
  BatchPlan plan;
  uint64_t seed;
  const ActorCritic& spec;
  Nets& nets;
  VecEnv& envs;
  bool graphs = true;
};

// Of schedules fixed and linear.
double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration);

// Where each part of the iteration's float64 all-reduce begins.
struct ReduceLayout {
  size_t rollout = 0;              // behind the loop's own numbers: the algorithm's sums over the rollout
  size_t episodes = 0;             // as EpisodeSums
  size_t obs = 0, critic_obs = 0;  // moments of observations
  size_t fingerprints = 0;         // one slot a rank: of its parameters
  size_t bad_numbers = 0;          // one slot a rank: 1 if its numbers are not finite
  size_t size = 0;
};

class OnPolicy : public Algorithm {
 public:
  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) final;
  const IterationStats& stats() const final { return stats_; }
  int64_t env_steps_per_iteration() const final { return rollout_.view().samples(); }
  std::span<const double> fingerprints() const final {
    return std::span<const double>(host_reduced_).subspan(at_.fingerprints, at_.bad_numbers - at_.fingerprints);
  }
  std::vector<uint64_t> field_fingerprints() const final { return fingerprints_->by_field(); }
  // What all ranks share. Whose environments go on in the next iteration adds theirs.
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;
  void set_learning_rate(double learning_rate) final;
  PolicyView policy() final { return {host_parameters(), host_normalizers().obs}; }

  // The networks, copied to host memory.
  std::span<const float> host_parameters();
  Normalizers host_normalizers() const { return {obs_normalizer_.host_view(), critic_normalizer_.host_view()}; }
  const RolloutView& rollout() const { return rollout_.view(); }

 protected:
  // How an algorithm differs in size: sums over a rollout that are reduced over the ranks, and sums of its loss.
  // `remedy` says what to lower when numbers are not finite.
  struct Shape {
    size_t rollout_sums;
    int loss_columns;
    std::string remedy;
  };
  // Throws UsageError unless the options fit together.
  OnPolicy(const LearnerParts& parts, const UpdateOptions& options, Shape shape);

  // Once an iteration, before anything of it is enqueued; never recorded.
  virtual void prepare_iteration(int64_t /*iteration*/) {}
  // Before the rollout's first step.
  virtual void enqueue_start(const int64_t* /*lifetime_step*/) {}
  // What the finished rollout teaches, and its sums to `out`; and, when they are those over all ranks, `begin` and what
  // follows from them.
  virtual void enqueue_rollout_sums(double* out) = 0;
  virtual void enqueue_begin(const BeginUpdate& begin, const double* /*sums*/) { for_each(queue_, 1, begin); }
  // Before each mini-batch, whose number is `numbers`->round.
  virtual void enqueue_round(const UpdateNumbers* /*numbers*/, const double* /*sums*/) {}
  // When the last mini-batch is done.
  virtual void enqueue_end() {}
  // After the iteration, when rollout_sums() are there: what they change from the next one on.
  virtual void end_iteration() {}

  // Once, by the constructor: the loss, a function object of rows as add_rows takes it, which has a LossTile `tile`.
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

  // As one field: numbers that lie as the parameters do.
  void visit_parameters(StateVisitor& visitor, const std::string& name, float* numbers);

  // The last iteration's mean over samples of a column of the loss; and its sums over the rollout.
  double mean(int column) const { return host_numbers_[0].sums[column] / host_numbers_[0].sums[kSamples]; }
  std::span<const double> rollout_sums() const { return rollout_sums_; }
  // Which samples the mini-batches of an iteration are of.
  MiniBatches mini_batches() const { return {plan_, seed_}; }
  const UpdateInputs* inputs() const { return inputs_.data(); }
  double gradient_norm() const;
  double learning_rate() const { return host_numbers_[0].learning_rate; }
  double action_std() const;  // mean over dimensions; NaN for choices

  Queue& queue() const { return queue_; }
  Nets& nets() const { return nets_; }
  VecEnv& envs() const { return envs_; }
  const ActorCritic& spec() const { return spec_; }
  Rollout& rollout_arrays() { return rollout_; }
  const Distribution& distribution() const { return collector_.distribution().get(); }
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }
  float* params() { return state_.data(); }
  double* scratch() { return scratch_.data(); }  // for sums over a rollout
  int64_t count() const { return count_; }
  // Samples that go through the networks at once, and what lies between networks and loss then.
  int64_t tile_rows() const { return std::min(nets_.tile(), plan_.rows()); }
  const LossTile& tile() const { return tile_; }

 private:
  // Work that a GPU records, and what is communicated in it.
  struct Recorded {
    std::unique_ptr<RecordedWork> recording;
    CommStats comm;
  };

  int64_t loss_columns() const { return shape_.loss_columns + free_parameters(distribution()); }
  void prepare(size_t riders, Communicator& comm);
  void set_inputs(int64_t iteration, std::span<const double> riders);
  void enqueue_collection();
  void enqueue_reduction(Communicator& comm);
  void enqueue_mini_batch(Communicator& comm);
  void enqueue_gradient();
  void enqueue_outputs();
  void run(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void require_finite(std::span<const double> reduced, int world_size) const;
  void read_outputs(Communicator& comm, std::span<double> riders);

  Queue& queue_;
  UpdateOptions options_;
  PolicyOptions policy_;
  Shape shape_;
  BatchPlan plan_;
  uint64_t seed_;
  ActorCritic spec_;
  Nets& nets_;
  VecEnv& envs_;
  bool graphs_;
  int64_t count_;  // floats of the parameters
  Rollout rollout_;
  Array<float> state_;     // parameters, then Adam's moments m and v
  Array<float> gradient_;  // [count_ + loss columns]
  Array<UpdateNumbers> numbers_, host_numbers_;
  Array<UpdateInputs> inputs_, host_inputs_;
  Collector collector_;
  Normalizer obs_normalizer_, critic_normalizer_;

  // A network on its way through a tile: its outputs, and the loss's gradient with respect to them.
  struct Pass {
    std::unique_ptr<Tape> tape;
    Array<float> out, d_out;  // [tile, outputs]
  };
  std::vector<Pass> passes_;  // actor, and critic if there is one
  LossTile tile_;             // their arrays
  LossId loss_id_{};
  std::shared_ptr<const void> loss_;
  std::function<void(const int32_t* rows, int64_t count)> add_loss_;

  Array<int32_t> rows_;  // a mini-batch's samples
  Array<double> scratch_, loss_scratch_;
  Array<float> host_params_, host_std_;

  // Made by the first iteration, which knows how many riders there are.
  ReduceLayout at_;
  std::unique_ptr<Fingerprints> fingerprints_;
  Array<double> reduced_, host_reduced_;
  bool warm_ = false;  // one iteration was done without recording: libraries have loaded their kernels
  std::unique_ptr<Queue::Event> began_, collected_, ended_;
  Recorded collection_, reduction_, mini_batch_, end_;
  std::vector<double> rollout_sums_;
  IterationStats stats_;
};

}  // namespace drl
