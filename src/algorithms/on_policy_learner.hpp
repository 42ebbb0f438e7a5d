// The base of on-policy learners. It has their parts, and the order of an iteration's work. A learner
//   1. collects a rollout,
//   2. sums the rollout's statistics over all ranks, in one float64 all-reduce (Slots),
//   3. takes one optimiser step for each mini-batch, with one float32 all-reduce of the gradient each (Gradients),
//   4. copies the results to the host.
// All work is enqueued on a Queue. A GPU records it once as a few graphs and then launches those; a collection in which
// the host steps the environments is not recorded. Apart from such a collection and from a task's curriculum, the host
// waits once per iteration, for the copies of step 4.
#pragma once

#include <span>
#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/options.hpp"
#include "algorithms/recorder.hpp"
#include "algorithms/rounds.hpp"
#include "algorithms/sampler.hpp"

namespace drl {

class OnPolicyLearner : public Algorithm {
 public:
  // Throws UsageError if the policy's options cannot be used with those of the algorithm.
  static void check(const UpdateOptions&, const PolicyOptions&) {}
  static std::span<const PresetDeviation> presets() { return {}; }

  void iterate(int64_t iteration, Communicator& comm) final;
  Slots& slots() override { return slots_; }
  const IterationStats& stats() const override { return stats_; }
  int64_t env_steps_per_iteration() const override { return rollout().samples(); }
  void visit_state(StateVisitor& visitor) final;
  void state_changed() override { policy_.state_changed(); }
  PolicyView policy() override { return policy_.view(); }
  void restart_learning_rate() override { optimizer_.restart_learning_rate(); }

  std::span<const float> host_parameters() { return policy_.host_parameters(); }
  Normalizers host_normalizers() const { return policy_.host_normalizers(); }
  const RolloutView& rollout() const { return sampler_.view(); }

 protected:
  struct Traits {
    int loss_columns;
    std::string remedy;                // the options that errors suggest to lower if learning diverges
    bool episodes_continue = true;     // from one rollout to the next; otherwise each starts with a reset
    bool mini_batches_differ = false;  // in their arguments, so that their work cannot be recorded
  };
  OnPolicyLearner(const LearnerParts& parts, const UpdateOptions& options, const Traits& traits);

  // The work of an iteration, in this order. begin() and read() run on the host, before and after the queue's work. The
  // others enqueue work; compute_gradient() and take_step() are called once for each mini-batch.
  virtual void begin(int64_t /*iteration*/) {}
  virtual void collect();
  virtual void compute_targets() {}  // from the rollout, with this rank's part of the sums
  virtual void begin_update();       // after the all-reduce of the sums
  virtual void compute_gradient() = 0;
  virtual void take_step();  // after the all-reduce of the gradients
  virtual void end();
  virtual void read() {}
  // Visits what the learner adds to the state that the parts have.
  virtual void visit_own_state(StateVisitor& /*visitor*/) {}

  const int32_t* next_rows();  // enqueues the computation of the next mini-batch's samples, and returns them

  Queue& queue_;
  Slots slots_;
  LearnedPolicy policy_;
  Sampler sampler_;
  Rounds rounds_;
  Gradients gradients_;
  Optimizer optimizer_;

 private:
  void run(Communicator& comm);

  Traits traits_;
  Recorder recorder_;
  PhaseClock clock_;
  IterationStats stats_;
};

}  // namespace drl
