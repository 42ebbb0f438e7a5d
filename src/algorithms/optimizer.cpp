#include "algorithms/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/fused_step.hpp"
#include "base/check.hpp"
#include "base/format.hpp"

namespace drl {
namespace {

OptimizerRule optimizer_rule(const UpdateOptions& options) {
  const double max_grad_norm = options.max_grad_norm;
  return {.type = options.optimizer == "sgd"     ? OptimizerType::sgd
                  : options.optimizer == "adamw" ? OptimizerType::adamw
                                                 : OptimizerType::adam,
          .adaptive = options.schedule == "adaptive",
          .joint_clip = options.grad_clip == "joint",
          .max_grad_norm = {max_grad_norm, options.critic_max_grad_norm.value_or(max_grad_norm)},
          .learning_rate = options.learning_rate,
          .critic_learning_rate = options.critic_learning_rate.value_or(0),
          .adam_eps = options.adam_eps,
          .weight_decay = options.weight_decay,
          .momentum = options.momentum};
}

// Returns the value after `iteration` of `iterations` on the line from `begin` to `end`, or `begin` without an end.
double annealed(double begin, const std::optional<double>& end, int64_t iteration, int iterations) {
  if (!end) return begin;
  return begin + (*end - begin) * std::min(1.0, static_cast<double>(iteration) / iterations);
}

// Returns the next multiple of the alignment of parameters.
int64_t aligned(int64_t floats) {
  return (floats + ParamLayout::kAligned - 1) / ParamLayout::kAligned * ParamLayout::kAligned;
}

}  // namespace

double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration) {
  if (options.schedule == "adaptive") return std::numeric_limits<double>::quiet_NaN();
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
}

UpdateInputs scheduled_inputs(const UpdateOptions& options, int64_t iteration) {
  return {.iteration = iteration,
          .learning_rate = scheduled_learning_rate(options, iteration),
          .desired_kl = annealed(options.desired_kl, options.desired_kl_end, iteration, options.anneal_iterations),
          .entropy_coef = static_cast<float>(
              annealed(options.entropy_coef, options.entropy_coef_end, iteration, options.anneal_iterations))};
}

std::string warning_of_schedule(const UpdateOptions& options, std::string_view section, int64_t done,
                                int64_t max_iterations) {
  const int64_t end = options.schedule_iterations, first = std::max(done, end) + 1;
  if (options.schedule != "linear" || first > max_iterations) return "";
  return fmt::format(
      "iterations {} to {} do not train the policy (the linear schedule of the learning rate ends at iteration {}): "
      "give --{}.schedule_iterations {} too, or a smaller --max_iterations",
      first, max_iterations, end, section, max_iterations);
}

Optimizer::Optimizer(const LearnerParts& parts, const UpdateOptions& options, LearnedPolicy& policy, Rounds& rounds,
                     int loss_columns, std::string remedy, int64_t appended)
    : queue_(parts.queue),
      options_(options),
      rule_(optimizer_rule(options)),
      remedy_(std::move(remedy)),
      policy_(policy),
      rounds_(rounds),
      columns_(loss_columns),
      count_(policy.spec().layout.size()),
      appended_(appended),
      gradient_(queue_, static_cast<size_t>(count_ + (appended > 0 ? aligned(loss_columns) + appended : loss_columns))),
      m_(queue_, static_cast<size_t>(count_)),
      v_(queue_, rule_.type == OptimizerType::sgd ? 0 : static_cast<size_t>(count_)),
      scratch_(queue_, sum_scratch(queue_, GradientSquares::kColumns)),
      std_begin_(policy.spec().std_offset()),
      std_end_(std_begin_ + free_parameters(policy.distribution())),
      std_low_(std_parameter(parts.policy.std_min, policy.spec().log_std)),
      std_high_(std_parameter(parts.policy.std_max, policy.spec().log_std)) {
  DRL_CHECK(loss_columns <= kMaxLossColumns, "the loss has more columns than UpdateNumbers::sums");
}

void Optimizer::enqueue_step(Communicator& comm) {
  {
    const Queue::Range range(queue_, "all-reduce");
    comm.all_reduce_sum(std::span<float>(gradient_), {queue_.native()});
  }
  const StepTarget target{rounds_.numbers(),
                          gradient(),
                          policy_.parameters(),
                          policy_.spec().first_critic_parameter(),
                          std_begin_,
                          std_end_,
                          std_low_,
                          std_high_};
  if (rule_.type == OptimizerType::sgd) {
    enqueue(SgdStep{target, m_.data(), static_cast<float>(rule_.momentum)});
  } else {
    enqueue(AdamStep{target, m_.data(), v_.data()});
  }
  policy_.actor().repack();
}

// Enqueues the step, after the norm of the gradient and what follows from it.
template <class Step>
void Optimizer::enqueue(const Step& step) {
  UpdateNumbers* numbers = rounds_.numbers();
  const GradientSquares squares{gradient(), tail(), step.to.first_critic};
  const PrepareStep prepare{numbers, tail(), columns_, rule_};
  if (GpuBlocks<OneBlockStep<Step>>::launch && queue_.on_gpu() && count_ <= kOneBlockParameters)
    return for_each_block(queue_, 1, OneBlockStep<Step>::kShared, OneBlockStep<Step>{squares, prepare, step, count_});
  sum_columns(queue_, count_, GradientSquares::kColumns, scratch_.data(), squares, StoreTo{&numbers->squared_norms[0]});
  for_each(queue_, 1, prepare);
  for_each(queue_, count_, step);
}

void Optimizer::end() const {
  if (rounds_.results().gradient_not_finite)
    throw SharedError("the gradient is not finite (learning has diverged): lower " + remedy_ +
                      "; the last checkpoint was saved before this happened");
}

void Optimizer::restart_learning_rate() {
  queue_.copy(&rounds_.numbers()->learning_rate, &options_.learning_rate, 1);
  queue_.synchronize();
}

void Optimizer::visit_state(StateVisitor& visitor) {
  UpdateNumbers* numbers = rounds_.numbers();
  visitor.scalar("optimizer/steps", numbers->optimizer_steps, &queue_);
  const ParamLayout& layout = policy_.spec().layout;
  if (rule_.type == OptimizerType::sgd) {
    visit_as_parameters(visitor, "optimizer/momentum", layout, m_.data(), queue_);
  } else {
    visit_as_parameters(visitor, "optimizer/m", layout, m_.data(), queue_);
    visit_as_parameters(visitor, "optimizer/v", layout, v_.data(), queue_);
  }
  visitor.scalar("optimizer/learning_rate", numbers->learning_rate, &queue_);
}

}  // namespace drl
