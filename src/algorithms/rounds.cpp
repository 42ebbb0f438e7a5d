#include "algorithms/rounds.hpp"

#include <algorithm>
#include <limits>

#include "device/for_each.hpp"

namespace drl {
namespace {

double learning_rate_at(const UpdateOptions& options, int64_t iteration) {
  if (options.schedule == "adaptive") return std::numeric_limits<double>::quiet_NaN();
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
}

// Returns the value after `iteration` of `iterations` on the line from `begin` to `end`, or `begin` without an end.
double annealed(double begin, const std::optional<double>& end, int64_t iteration, int iterations) {
  if (!end) return begin;
  return begin + (*end - begin) * std::min(1.0, static_cast<double>(iteration) / iterations);
}

}  // namespace

UpdateInputs scheduled_inputs(const UpdateOptions& options, int64_t iteration) {
  return {.iteration = iteration,
          .learning_rate = learning_rate_at(options, iteration),
          .desired_kl = annealed(options.desired_kl, options.desired_kl_end, iteration, options.anneal_iterations),
          .entropy_coef = static_cast<float>(
              annealed(options.entropy_coef, options.entropy_coef_end, iteration, options.anneal_iterations))};
}

Rounds::Rounds(Queue& queue, const UpdateOptions& options, const BatchPlan& plan, uint64_t seed)
    : queue_(queue),
      batches_{plan, seed},
      options_(options),
      lifetime_step_(queue, 1),
      host_lifetime_step_(queue, 1, Memory::host),
      inputs_(queue, 1),
      host_inputs_(queue, 1, Memory::host),
      rows_(queue, static_cast<size_t>(plan.rows())) {}

void Rounds::enqueue_begin() { queue_.copy(inputs_.data(), host_inputs_.data(), 1); }

void Rounds::enqueue_rows(const UpdateNumbers* numbers) {
  if (plan().sequences) {
    const int64_t sequences = plan().rows() / plan().num_steps;
    return for_each(queue_, sequences, SequenceRows{batches_, numbers, rows_.data()});
  }
  for_each(queue_, plan().rows(), MiniBatchRows{batches_, numbers, rows_.data()});
}

void Rounds::enqueue_end() { queue_.copy(host_lifetime_step_.data(), lifetime_step_.data(), 1); }

void Rounds::visit_state(StateVisitor& visitor) {
  visitor.scalar("rollout/lifetime_step", *lifetime_step_.data(), &queue_);
}

}  // namespace drl
