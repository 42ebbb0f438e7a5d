// The environments of a learner: collects a rollout from them, and sums what its episodes report.
#pragma once

#include <cstdint>

#include "algorithms/algorithm.hpp"
#include "algorithms/collector.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/slots.hpp"
#include "comm/communicator.hpp"

namespace drl {

class Sampler {
 public:
  // Adds the place of the episodes' sums to `slots`. The parts must outlive the sampler.
  // `action_noise`: see ActionSource.
  Sampler(const LearnerParts& parts, LearnedPolicy& policy, Slots& slots, float action_noise = 0);

  Rollout& rollout() { return rollout_; }
  const RolloutView& view() const { return rollout_.view(); }
  // Returns whether the host steps the environments, so that the collection cannot be recorded.
  bool on_host() const { return envs_.steps_on_host(); }
  // If the host steps the environments, other ranks learn from now on that this one computes.
  void report_to(Communicator& comm) {
    if (on_host()) collector_.call_each_step([&comm] { comm.computes(); });
  }
  // Enqueues the reset of all environments. `start.group_size` consecutive ones start from the same state.
  void enqueue_reset(const Start& start);
  // Enqueues the collection of a rollout from the observations in row 0, and of its episodes' sums. `first_step` is the
  // environments' lifetime step, in the queue's memory.
  void enqueue(const int64_t* first_step, Slots& slots);
  // These do so step by step: call enqueue_begin(), enqueue_step() for each row t, and enqueue_end().
  void enqueue_begin();
  void enqueue_step(const int64_t* first_step, int64_t t, ActionChoice choice) {
    collector_.step(first_step, t, choice);
  }
  void enqueue_end(Slots& slots);

  // Reads the episodes' sums over all ranks after the iteration, and gives the environments the next curriculum.
  void end(int64_t iteration, int64_t first_step, const Slots& slots, IterationStats& stats);

  // Visits the state that the environments share, e.g. the curriculum. Algorithms whose environments persist across
  // iterations also visit the environments themselves, with the observations in row 0 and the actor's states.
  void visit_shared_state(StateVisitor& visitor) { envs_.visit_shared_state(visitor); }
  void visit_row(StateVisitor& visitor);
  void visit_envs(StateVisitor& visitor) { envs_.visit_state(visitor); }

 private:
  void enqueue_begin_of_rollout();

  Queue& queue_;
  VecEnv& envs_;
  RolloutWatch* watch_;
  Actor& actor_;
  Rollout rollout_;
  Collector collector_;
  Slots::Place episodes_;
  Array<double> scratch_;
};

}  // namespace drl
