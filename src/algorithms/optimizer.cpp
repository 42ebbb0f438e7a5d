#include "algorithms/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"

namespace drl {
namespace {

float bound(const PolicySpec& spec, double std) { return static_cast<float>(spec.log_std ? std::log(std) : std); }

}  // namespace

double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration) {
  if (options.schedule == "adaptive") return std::numeric_limits<double>::quiet_NaN();
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
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
                     int loss_columns, std::string remedy)
    : queue_(parts.queue),
      options_(options),
      remedy_(std::move(remedy)),
      policy_(policy),
      rounds_(rounds),
      columns_(loss_columns),
      count_(policy.spec().layout.size()),
      gradient_(queue_, static_cast<size_t>(count_ + loss_columns)),
      m_(queue_, static_cast<size_t>(count_)),
      v_(queue_, static_cast<size_t>(count_)),
      scratch_(queue_, sum_scratch(queue_, GradientSquares::kColumns)),
      std_begin_(policy.spec().std_offset()),
      std_end_(std_begin_ + free_parameters(policy.distribution())),
      std_low_(bound(policy.spec(), parts.policy.std_min)),
      std_high_(bound(policy.spec(), parts.policy.std_max)) {
  DRL_CHECK(loss_columns <= kMaxLossColumns, "the loss has more columns than UpdateNumbers::sums");
}

void Optimizer::enqueue_step(Communicator& comm) {
  {
    const Queue::Range range(queue_, "all-reduce");
    comm.all_reduce_sum(std::span<float>(gradient_), {queue_.native()});
  }
  UpdateNumbers* numbers = rounds_.numbers();
  const int64_t first_critic = policy_.spec().first_critic_parameter();
  sum_columns(queue_, count_, GradientSquares::kColumns, scratch_.data(),
              GradientSquares{gradient(), tail(), first_critic}, StoreTo{&numbers->squared_norms[0]});
  for_each(queue_, 1,
           PrepareAdamStep{numbers, tail(), columns_, options_.schedule == "adaptive", options_.grad_clip == "joint",
                           options_.desired_kl, options_.max_grad_norm, options_.adam_eps});
  for_each(queue_, count_,
           AdamStep{numbers, gradient(), tail(), policy_.parameters(), m_.data(), v_.data(), first_critic, std_begin_,
                    std_end_, std_low_, std_high_});
  policy_.actor().repack();
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
  visitor.scalar("optimizer/steps", numbers->adam_steps, &queue_);
  visit_as_parameters(visitor, "optimizer/m", policy_.spec().layout, m_.data(), queue_);
  visit_as_parameters(visitor, "optimizer/v", policy_.spec().layout, v_.data(), queue_);
  visitor.scalar("optimizer/learning_rate", numbers->learning_rate, &queue_);
}

}  // namespace drl
