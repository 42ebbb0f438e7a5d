// A learner for each shard of this rank's environments, instead of one for all of them. The learners compute what they
// would as ranks of their own, so that results do not depend on how many ranks the shards are distributed to.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "comm/shard_team.hpp"

namespace drl {

class ShardedAlgorithm final : public Algorithm {
 public:
  // `learners` are those of this rank's shards, in order; their plans are those of ranks, and their queues a host's.
  // `comm` connects the real ranks and must outlive this object. Collective.
  ShardedAlgorithm(std::vector<std::unique_ptr<Algorithm>> learners, Communicator& comm);

  void iterate(int64_t iteration, Communicator& comm) override;
  Slots& slots() override { return first().slots(); }
  const IterationStats& stats() const override { return first().stats(); }
  std::vector<Metric> metrics() const override { return first().metrics(); }
  int64_t env_steps_per_iteration() const override;
  // Visits the first learner's replicated state, and the rows of all learners' environments as one array.
  void visit_state(StateVisitor& visitor) override;
  // Gives the replicated state of the first learner to the others.
  void state_changed() override;
  PolicyView policy() override { return first().policy(); }
  void restart_learning_rate() override;

 private:
  Algorithm& first() const { return *learners_.front(); }

  std::vector<std::unique_ptr<Algorithm>> learners_;
  ShardTeam team_;
};

}  // namespace drl
