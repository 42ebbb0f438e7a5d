// The order of an iteration's work, which all on-policy learners share.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/learned_policy.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/optimizer.hpp"
#include "algorithms/recorder.hpp"
#include "algorithms/rounds.hpp"
#include "algorithms/sampler.hpp"
#include "algorithms/slots.hpp"

namespace drl {

class OnPolicyLoop {
 public:
  // The work that a learner enqueues in an iteration, in this order. `update` is called once for each mini-batch.
  struct Steps {
    std::function<void()> collect, reduce, update, end;
    bool update_varies = false;  // each mini-batch has other arguments, so that its work cannot be recorded
  };

  // The caller owns the parts, which must outlive this object.
  OnPolicyLoop(const LearnerParts& parts, Slots& slots, LearnedPolicy& policy, Sampler& sampler, Rounds& rounds,
               Optimizer& optimizer);

  // Runs the steps, and waits for the queue. On a GPU, each step is recorded once.
  void run(Communicator& comm, const Steps& steps);
  // Enqueues the copies of all parts' results to the host.
  void enqueue_end();
  // Reads them after run(). Throws the same error on all ranks if a rank's sums or the gradient were not finite; it
  // suggests lowering the options in `remedy`.
  void read(std::span<double> loop_sums, const std::string& remedy, IterationStats& stats);

 private:
  Queue& queue_;
  Slots& slots_;
  LearnedPolicy& policy_;
  Sampler& sampler_;
  Rounds& rounds_;
  Optimizer& optimizer_;
  Recorder recorder_;
  PhaseClock clock_;
};

}  // namespace drl
