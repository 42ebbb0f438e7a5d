#include "algorithms/sharded_algorithm.hpp"

#include <iterator>
#include <utility>

namespace drl {
namespace {

StateList state_of(Algorithm& learner) {
  return list_state([&](StateVisitor& visitor) { learner.visit_state(visitor); });
}

void append_parts(const StateField& field, StateField& whole) {
  if (field.parts.empty()) whole.parts.push_back({field.data, field.count()});
  std::ranges::copy(field.parts, std::back_inserter(whole.parts));
}

}  // namespace

ShardedAlgorithm::ShardedAlgorithm(std::vector<std::unique_ptr<Algorithm>> learners, Communicator& comm)
    : learners_(std::move(learners)), team_(static_cast<int>(learners_.size()), comm) {}

// The training loop adds places to the first learner's sums, so the others get as many.
void ShardedAlgorithm::iterate(int64_t iteration, Communicator&) {
  for (const auto& learner : learners_)
    if (const size_t more = slots().size() - learner->slots().size(); more > 0) learner->slots().add(more);
  team_.run([&](int shard, Communicator& comm) { learners_[static_cast<size_t>(shard)]->iterate(iteration, comm); });
}

int64_t ShardedAlgorithm::env_steps_per_iteration() const {
  return first().env_steps_per_iteration() * static_cast<int64_t>(learners_.size());
}

void ShardedAlgorithm::visit_state(StateVisitor& visitor) {
  std::vector<StateList> all;
  for (const auto& learner : learners_) all.push_back(state_of(*learner));
  for (size_t k = 0; k < all.front().size(); ++k) {
    StateField whole = all.front()[k];
    if (whole.sharding != Sharding::replicated && all.size() > 1) {
      whole.parts.clear(), whole.shape[0] = 0;
      for (const StateList& state : all) {
        append_parts(state[k], whole);
        whole.shape[0] += state[k].shape[0];
      }
    }
    visitor.field(whole);
  }
}

void ShardedAlgorithm::state_changed() {
  const StateList from = state_of(first());
  for (const auto& learner : learners_) {
    const StateList to = state_of(*learner);
    for (size_t k = 0; k < from.size() && learner != learners_.front(); ++k)
      if (from[k].sharding == Sharding::replicated) to[k].write(from[k].read());
    learner->state_changed();
  }
}

void ShardedAlgorithm::restart_learning_rate() {
  for (const auto& learner : learners_) learner->restart_learning_rate();
}

}  // namespace drl
