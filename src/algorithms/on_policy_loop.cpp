#include "algorithms/on_policy_loop.hpp"

namespace drl {

OnPolicyLoop::OnPolicyLoop(const LearnerParts& parts, Slots& slots, LearnedPolicy& policy, Sampler& sampler,
                           Rounds& rounds, Optimizer& optimizer)
    : queue_(parts.queue),
      slots_(slots),
      policy_(policy),
      sampler_(sampler),
      rounds_(rounds),
      optimizer_(optimizer),
      recorder_(queue_, parts.graphs),
      clock_(queue_) {}

void OnPolicyLoop::run(Communicator& comm, const Steps& steps) {
  clock_.begin();
  recorder_.run("collect", comm, steps.collect, !sampler_.on_host());
  clock_.collected();
  recorder_.run("reduce", comm, steps.reduce);
  for (int k = 0; k < rounds_.count(); ++k) recorder_.run("mini-batch", comm, steps.update, !steps.update_varies);
  recorder_.run("end", comm, steps.end);
  clock_.end();
  comm.wait([&] { return queue_.done(); });
  recorder_.iteration_ended();
}

void OnPolicyLoop::enqueue_end() {
  rounds_.enqueue_end();
  slots_.enqueue_end();
  policy_.enqueue_end();
}

void OnPolicyLoop::read(std::span<double> loop_sums, const std::string& remedy, IterationStats& stats) {
  slots_.end(loop_sums, remedy);
  optimizer_.end();
  policy_.end(slots_);
  sampler_.end(rounds_.iteration(), rounds_.first_step(), slots_, stats);
  stats.collection_time = clock_.collection_time(), stats.learning_time = clock_.learning_time();
}

}  // namespace drl
