// Adam, AdamW or SGD on the parameters of a policy, with the gradient's all-reduce, clipping, and the schedule of the
// learning rate.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/learned_policy.hpp"
#include "algorithms/options.hpp"
#include "algorithms/rounds.hpp"

namespace drl {

// Returns the learning rate of an iteration for the schedules "fixed" and "linear", and NaN for "adaptive", which
// changes the rate after each mini-batch.
double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration);
// Returns the inputs of an iteration: its learning rate, desired_kl and entropy_coef.
UpdateInputs scheduled_inputs(const UpdateOptions& options, int64_t iteration);
// Returns a warning, with the option to give, if some of the iterations that remain after the first `done` of
// `max_iterations` are beyond the linear schedule, where the learning rate is 0; otherwise "". `section` is that of the
// options ("ppo").
std::string warning_of_schedule(const UpdateOptions& options, std::string_view section, int64_t done,
                                int64_t max_iterations);

// There are two groups of parameters, whose gradients are clipped separately or jointly, and which may have different
// learning rates: those of the actor, with its standard deviation, and of the critic.
class Optimizer {
 public:
  // The caller owns `policy` and `rounds`, which must outlive the optimiser. `loss_columns` numbers follow the gradient
  // in its all-reduce (update_kernels.hpp), and `appended` numbers of the algorithm follow these. Errors suggest
  // lowering the options that `remedy` names.
  Optimizer(const LearnerParts& parts, const UpdateOptions& options, LearnedPolicy& policy, Rounds& rounds,
            int loss_columns, std::string remedy, int64_t appended = 0);

  float* gradient() { return gradient_.data(); }  // [parameters, then loss columns], summed over samples
  float* tail() { return gradient() + count_; }   // the loss columns
  float* appended() { return gradient() + (static_cast<int64_t>(gradient_.size()) - appended_); }
  // Enqueues the sum of the gradient over the ranks, and the step.
  void enqueue_step(Communicator& comm);
  // Throws the same error on all ranks if a gradient of the last iteration was not finite.
  void end() const;

  double learning_rate() const { return rounds_.results().learning_rate; }  // after the last iteration
  // Sets the learning rate to that of the options, overriding the one in the state.
  void restart_learning_rate();
  void visit_state(StateVisitor& visitor);

 private:
  template <class Step>
  void enqueue(const Step& step);

  Queue& queue_;
  UpdateOptions options_;
  OptimizerRule rule_;
  std::string remedy_;
  LearnedPolicy& policy_;
  Rounds& rounds_;
  int columns_;
  int64_t count_, appended_;       // floats in the parameter buffer; numbers that the algorithm adds to the all-reduce
  Array<float> gradient_, m_, v_;  // Adam's moments; SGD has its momentum in m_, and no v_
  Array<double> scratch_;
  int64_t std_begin_, std_end_;  // the standard deviations' parameters, which are kept in [std_low_, std_high_]
  float std_low_, std_high_;
};

}  // namespace drl
