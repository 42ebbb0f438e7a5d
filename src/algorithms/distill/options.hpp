#pragma once

#include <string>

#include "algorithms/options.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {

struct DistillOptions : UpdateOptions {
  std::string loss_type = "mse";
  int gradient_length = 15;

  DistillOptions() { schedule = "fixed", num_learning_epochs = 1; }

  void describe(OptionVisitor& v) {
    v("loss_type", loss_type, "loss of the difference between the student's and the teacher's actions",
      one_of({"mse", "huber"}), always);
    v("gradient_length", gradient_length,
      "number of consecutive steps of all environments in a gradient step; gradients of recurrent layers go back in "
      "time through these steps",
      between(1, 1 << 20), always);
    v("learning_rate", learning_rate, "initial learning rate (Adam's step size)", above(0) && at_most(1), common,
      always);
    v("schedule", schedule, "schedule of the learning rate: linear decreases the rate to 0",
      one_of({"fixed", "linear"}), common, always);
    v("schedule_iterations", schedule_iterations, "number of iterations after which the linear schedule reaches 0",
      at_least(1), only_with("schedule", "linear"));
    v("num_learning_epochs", num_learning_epochs, "number of passes over each rollout", between(1, 1000), common,
      always);
    v("max_grad_norm", max_grad_norm, "gradients with a larger norm are scaled down to this norm", above(0), always);
    v("adam_eps", adam_eps, "Adam's epsilon, added to the denominator of its step", above(0), always);
    describe_normalization(v);
  }
  std::string describe_update(const BatchPlan& plan) const {
    return fmt::format("{} epochs, a gradient step for every {} steps of {} samples", num_learning_epochs,
                       gradient_length, with_commas(plan.samples_per_step()));
  }
};

}  // namespace drl
