// The mini-batches of an iteration: `num_learning_epochs` passes over the rollout, each with a new permutation of the
// samples, which is divided into `num_mini_batches` mini-batches.
#pragma once

#include <cstdint>

#include "algorithms/options.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/array.hpp"
#include "device/state.hpp"

namespace drl {

// Returns the inputs of an iteration: its learning rate, desired_kl and entropy_coef. The rate is NaN for the schedule
// "adaptive", which changes it after each mini-batch.
UpdateInputs scheduled_inputs(const UpdateOptions& options, int64_t iteration);

class Rounds {
 public:
  Rounds(Queue& queue, const UpdateOptions& options, const BatchPlan& plan, uint64_t seed);

  const BatchPlan& plan() const { return batches_.plan; }
  const MiniBatches& mini_batches() const { return batches_; }
  int count() const { return options_.num_learning_epochs * plan().num_mini_batches; }  // mini-batches in an iteration

  // Starts an iteration on the host.
  void begin(int64_t iteration) { host_inputs_[0] = scheduled_inputs(options_, iteration); }
  void enqueue_begin();
  // Returns the kernel that starts the update of an optimiser. Enqueue it after the rollout's all-reduce.
  ResetUpdateNumbers reset(UpdateNumbers* numbers) {
    return {numbers, inputs_.data(), lifetime_step_.data(), plan().num_steps};
  }
  // Enqueues the computation of this rank's samples in the optimiser's next mini-batch: rows() [plan().rows()], indices
  // into the rollout.
  void enqueue_rows(const UpdateNumbers* numbers);
  const int32_t* rows() const { return rows_.data(); }
  void enqueue_end();

  const UpdateInputs* inputs() const { return inputs_.data(); }  // in the queue's memory
  // The environments' lifetime step at the rollout's row 0, in the queue's memory.
  const int64_t* lifetime_step() const { return lifetime_step_.data(); }

  // The last iteration on the host: its number, and the lifetime step at row 0 of its rollout.
  int64_t iteration() const { return host_inputs_[0].iteration; }
  int64_t first_step() const { return host_lifetime_step_[0] - plan().num_steps; }

  void visit_state(StateVisitor& visitor);

 private:
  Queue& queue_;
  MiniBatches batches_;
  UpdateOptions options_;
  Array<int64_t> lifetime_step_, host_lifetime_step_;
  Array<UpdateInputs> inputs_, host_inputs_;
  Array<int32_t> rows_;
};

}  // namespace drl
