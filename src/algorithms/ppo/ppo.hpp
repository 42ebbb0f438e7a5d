// Data-parallel Proximal Policy Optimization (Schulman et al., arXiv:1707.06347), behaving as rsl_rl's. Deviations:
// time-outs bootstrap from the episode's true last observation; advantages and normaliser use moments of all ranks;
// each epoch has a permutation of its own; the learning rate stays put on an iteration's first mini-batch, whose true
// KL is 0; actor and critic are clipped separately.
//
// All of it is enqueued, on a CPU as on a GPU, where it is recorded once and launched as a few graphs; the host waits
// once an iteration, for the numbers that it reports.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/actor_critic.hpp"
#include "algorithms/algorithm.hpp"
#include "algorithms/collector.hpp"
#include "algorithms/options.hpp"
#include "algorithms/ppo/batch_plan.hpp"
#include "algorithms/ppo/kernels.hpp"
#include "device/array.hpp"
#include "device/fingerprint.hpp"
#include "nets/nets.hpp"

namespace drl {

// Throws UsageError unless the options fit together.
void check_ppo(const PolicyOptions& policy, const BatchPlan& plan);

// Of schedules fixed and linear.
double scheduled_learning_rate(const PpoOptions& options, int64_t iteration);

// Where each part of the iteration's float64 all-reduce begins.
struct ReduceLayout {
  size_t riders = 0;               // the loop's own numbers
  size_t advantage = 0;            // n, sum and sum of squares of advantages, then of returns
  size_t episodes = 0;             // as EpisodeSums
  size_t obs = 0, critic_obs = 0;  // moments of observations
  size_t fingerprints = 0;         // one slot a rank: of its parameters
  size_t bad_numbers = 0;          // one slot a rank: 1 if its numbers are not finite
  size_t size = 0;
};

class Ppo final : public Algorithm {
 public:
  // `queue`, `nets` and `envs` stay the caller's; `nets` are of `spec`. Without `graphs` a GPU's kernels are enqueued
  // one by one.
  Ppo(Queue& queue, const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed,
      const ActorCritic& spec, Nets& nets, VecEnv& envs, bool graphs = true);

  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) override;
  const IterationStats& stats() const override { return stats_; }
  int64_t env_steps_per_iteration() const override { return rollout_.view().samples(); }
  std::span<const double> fingerprints() const override {
    return std::span<const double>(host_reduced_).subspan(at_.fingerprints, at_.bad_numbers - at_.fingerprints);
  }
  std::vector<uint64_t> field_fingerprints() const override { return fingerprints_->by_field(); }
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;

  // From now on, whatever the state says.
  void set_learning_rate(double learning_rate);
  // The networks, copied to host memory, for evaluation.
  std::span<const float> host_parameters();
  Normalizers host_normalizers() const { return {obs_normalizer_.host_view(), critic_normalizer_.host_view()}; }
  const RolloutView& rollout() const { return rollout_.view(); }

 private:
  // Work that a GPU records, and what is communicated in it.
  struct Recorded {
    std::unique_ptr<RecordedWork> recording;
    CommStats comm;
  };

  void prepare(size_t riders, Communicator& comm);
  void enqueue_inputs(int64_t iteration, std::span<const double> riders);
  void enqueue_collection();
  void enqueue_advantages();
  void enqueue_reduction(Communicator& comm);
  void enqueue_mini_batch(Communicator& comm);
  void enqueue_tile(int64_t first, int64_t count);
  void enqueue_end();
  void run(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue);
  void read_outputs(Communicator& comm, std::span<double> riders);
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }
  float* params() { return state_.data(); }
  int64_t free_parameters() const { return drl::free_parameters(collector_.distribution().get()); }

  Queue& queue_;
  PpoOptions options_;
  PolicyOptions policy_;
  BatchPlan plan_;
  uint64_t seed_;
  ActorCritic spec_;
  Nets& nets_;
  VecEnv& envs_;
  bool graphs_;
  int64_t count_;  // floats of the parameters
  Rollout rollout_;
  Array<float> state_;     // parameters, then Adam's moments m and v
  Array<float> gradient_;  // [count_ + kTailSize]
  Array<PpoNumbers> numbers_, host_numbers_;
  Array<PpoInputs> inputs_, host_inputs_;
  Collector collector_;
  Normalizer obs_normalizer_, critic_normalizer_;

  Array<int32_t> rows_;  // a mini-batch's samples
  std::unique_ptr<Tape> actor_tape_, critic_tape_;
  Array<float> policy_out_, value_, d_policy_, d_value_;  // of a tile
  Array<float> last_values_;                              // [last_rows, N]
  Array<double> scratch_, loss_scratch_;
  Array<float> host_params_, host_std_;
  std::unique_ptr<Fingerprints> fingerprints_;

  // Made by the first iteration, which knows how many riders there are.
  ReduceLayout at_;
  Array<double> reduced_, host_reduced_;
  bool warm_ = false;  // one iteration was done without recording: libraries have loaded their kernels
  std::unique_ptr<Queue::Event> began_, collected_, ended_;
  Recorded collection_, reduction_, mini_batch_, end_;
  IterationStats stats_;
};

}  // namespace drl
