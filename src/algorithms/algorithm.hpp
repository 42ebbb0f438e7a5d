// What the training loop knows of a learning algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/communicator.hpp"
#include "device/state.hpp"
#include "envs/vec_env.hpp"

namespace drl {

// One iteration's numbers, reduced over all ranks where they are not times.
struct IterationStats {
  EpisodeSums episodes;
  double value_loss = 0, surrogate_loss = 0, entropy = 0, kl = 0, clip_fraction = 0, gradient_norm = 0;
  double explained_variance = 0, learning_rate = 0, action_std = 0;
  double collection_time = 0, learning_time = 0;  // this rank's seconds
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // Iteration number `iteration` (from 0), on all ranks together. `riders` are the loop's own numbers: they travel in
  // the iteration's one float64 all-reduce and come back summed over the ranks.
  virtual void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) = 0;
  virtual const IterationStats& stats() const = 0;
  virtual int64_t env_steps_per_iteration() const = 0;  // of this rank
  virtual void visit_state(StateVisitor& visitor) = 0;
  // The state was changed from outside (loaded, broadcast).
  virtual void state_changed() = 0;
  // Fingerprints of the replicated state that lies in a queue's memory, as the last iteration began: one of each rank,
  // which travelled in the iteration's float64 all-reduce; and this rank's, one for each such field of visit_state.
  virtual std::span<const double> fingerprints() const = 0;
  virtual std::vector<uint64_t> field_fingerprints() const = 0;
};

}  // namespace drl
