// The mini-batches of an iteration: `num_learning_epochs` passes over the rollout, each with a new permutation of the
// samples, which is divided into `num_mini_batches` mini-batches.
#pragma once

#include <cstdint>

#include "algorithms/options.hpp"
#include "algorithms/update_kernels.hpp"
#include "device/array.hpp"
#include "device/state.hpp"

namespace drl {

class Rounds {
 public:
  Rounds(Queue& queue, const UpdateOptions& options, const BatchPlan& plan, uint64_t seed);

  const BatchPlan& plan() const { return batches_.plan; }
  const MiniBatches& mini_batches() const { return batches_; }
  int count() const { return epochs_ * plan().num_mini_batches; }  // mini-batches in an iteration

  // Starts an iteration on the host.
  void begin(const UpdateInputs& inputs) { host_inputs_[0] = inputs; }
  void enqueue_begin();
  // Returns the kernel that starts the update. The algorithm enqueues it after the rollout's all-reduce.
  ResetUpdateNumbers reset() { return {numbers_.data(), inputs_.data(), plan().num_steps}; }
  // Enqueues the computation of this rank's samples in the next mini-batch: rows() [plan().rows()], indices into the
  // rollout.
  void enqueue_rows();
  const int32_t* rows() const { return rows_.data(); }
  void enqueue_end();

  UpdateNumbers* numbers() { return numbers_.data(); }  // in the queue's memory
  const UpdateInputs* inputs() const { return inputs_.data(); }
  const int64_t* lifetime_step() { return &numbers_.data()->lifetime_step; }

  // The last iteration's results, on the host.
  const UpdateNumbers& results() const { return host_numbers_[0]; }
  int64_t iteration() const { return host_inputs_[0].iteration; }
  // Returns the lifetime step at row 0 of its rollout.
  int64_t first_step() const { return results().lifetime_step - plan().num_steps; }
  // Returns the mean of a loss column over the samples of its mini-batches.
  double mean(int column) const { return results().sums[column] / results().sums[kSamples]; }
  double gradient_norm() const { return results().gradient_norm / count(); }  // mean over its mini-batches

  void visit_state(StateVisitor& visitor);

 private:
  Queue& queue_;
  MiniBatches batches_;
  int epochs_;
  Array<UpdateNumbers> numbers_, host_numbers_;
  Array<UpdateInputs> inputs_, host_inputs_;
  Array<int32_t> rows_;
};

}  // namespace drl
