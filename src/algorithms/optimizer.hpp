// Adam, AdamW or SGD on groups of parameters, with the gradient's all-reduce, clipping, and the schedule of the
// learning rate.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/update_kernels.hpp"
#include "comm/communicator.hpp"
#include "device/array.hpp"
#include "device/state.hpp"
#include "nets/layout.hpp"

namespace drl {

// The gradients of an optimiser step and the sums that follow them: its only float32 all-reduce. Each optimiser adds a
// place of its own.
class Gradients {
 public:
  explicit Gradients(Queue& queue) : queue_(queue) {}
  // Adds a place of `count` numbers, and returns its offset. Must not be called after the first at().
  int64_t add(int64_t count);
  // Returns the address of the place at an offset. The first call allocates the buffer, which is zeroed.
  float* at(int64_t offset);
  void enqueue_all_reduce(Communicator& comm);

 private:
  Queue& queue_;
  int64_t size_ = 0;
  Array<float> buffer_;
};

// Consecutive parameters that have their own learning rate and clipping.
struct ParamGroup {
  std::string name;  // "actor"
  int64_t end;       // the group begins where the one before it ends
  GroupRule rule;
};

struct OptimizerSettings {
  OptimizerRule rule;              // without its groups
  std::vector<ParamGroup> groups;  // at most kMaxGroups; they cover the layout
  int loss_columns;                // numbers that follow the gradient (update_kernels.hpp)
  std::string remedy;              // the options that errors suggest to lower
  ParamBounds bounds = {};
};

class Optimizer {
 public:
  // Optimises the parameters [layout.size()] from `params` on, which are in the queue's memory. All arguments but the
  // settings must outlive the optimiser.
  Optimizer(Queue& queue, Gradients& gradients, const ParamLayout& layout, float* params,
            const OptimizerSettings& settings);

  // Returns the gradient [parameters, then loss columns], which is summed over samples.
  float* gradient() { return gradients_.at(place_); }
  UpdateNumbers* numbers() { return numbers_.data(); }  // in the queue's memory
  // Enqueues the start of an iteration, unless another kernel restarts numbers().
  void enqueue_begin();
  // Enqueues the step, after the all-reduce.
  void enqueue_step();
  void enqueue_end();
  // Throws the same error on all ranks if a gradient of the last iteration was not finite.
  void end() const;

  // Return results of the last iteration: the first group's learning rate at its end, the mean of a loss column over
  // the samples of its mini-batches, and the mean norm of the gradient over its mini-batches.
  double learning_rate() const { return host_numbers_[0].learning_rate; }
  double mean(int column) const { return host_numbers_[0].sums[column] / host_numbers_[0].sums[kSamples]; }
  double gradient_norm() const { return host_numbers_[0].gradient_norm / host_numbers_[0].mini_batch; }

  // Sets the learning rate to the initial one, overriding the one in the state.
  void restart_learning_rate();
  // Visits the number of steps and the moments, as NAME/steps and so on, and the learning rate.
  void visit_state(StateVisitor& visitor, const std::string& name);
  void visit_learning_rate(StateVisitor& visitor, const std::string& name);

 private:
  template <class Step>
  void enqueue(const Step& step);

  Queue& queue_;
  Gradients& gradients_;
  const ParamLayout& layout_;
  float* params_;
  OptimizerRule rule_;
  ParamGroups groups_;
  std::vector<std::string> group_names_;
  ParamBounds bounds_;
  int columns_;
  std::string remedy_;
  int64_t place_;       // of the gradient
  Array<float> m_, v_;  // Adam's moments; SGD has its momentum in m_, and no v_
  Array<double> scratch_;
  Array<UpdateNumbers> numbers_, host_numbers_;
};

// Visits `numbers`, which are laid out as parameters are, as one field without the padding between the slices.
void visit_as_parameters(StateVisitor& visitor, const std::string& name, const ParamLayout& layout, float* numbers,
                         Queue& queue);

}  // namespace drl
