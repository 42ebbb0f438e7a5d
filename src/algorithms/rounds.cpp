#include "algorithms/rounds.hpp"

#include "device/for_each.hpp"

namespace drl {

Rounds::Rounds(Queue& queue, const UpdateOptions& options, const BatchPlan& plan, uint64_t seed)
    : queue_(queue),
      batches_{plan, seed},
      epochs_(options.num_learning_epochs),
      numbers_(queue, 1),
      host_numbers_(queue, 1, Memory::host),
      inputs_(queue, 1),
      host_inputs_(queue, 1, Memory::host),
      rows_(queue, static_cast<size_t>(plan.rows())) {
  host_numbers_[0].learning_rate = options.learning_rate;
  queue_.copy(numbers_.data(), host_numbers_.data(), 1);
  queue_.synchronize();
}

void Rounds::enqueue_begin() { queue_.copy(inputs_.data(), host_inputs_.data(), 1); }

void Rounds::enqueue_rows() {
  if (plan().sequences) {
    const int64_t sequences = plan().rows() / plan().num_steps;
    return for_each(queue_, sequences, SequenceRows{batches_, numbers_.data(), rows_.data()});
  }
  for_each(queue_, plan().rows(), MiniBatchRows{batches_, numbers_.data(), rows_.data()});
}

void Rounds::enqueue_end() { queue_.copy(host_numbers_.data(), numbers_.data(), 1); }

void Rounds::visit_state(StateVisitor& visitor) {
  visitor.scalar("rollout/lifetime_step", numbers_.data()->lifetime_step, &queue_);
}

}  // namespace drl
