// What the training loop knows of a learning algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/metric.hpp"
#include "comm/communicator.hpp"
#include "device/state.hpp"
#include "envs/vec_env.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// What the loop itself wants to know of an iteration.
struct IterationStats {
  EpisodeSums episodes;                           // of all ranks
  std::vector<float> curriculum = {};             // of the next iteration, if the task has one
  double collection_time = 0, learning_time = 0;  // this rank's seconds
};

// A policy in host memory: the networks' parameters, and how the actor's observations are normalised.
struct PolicyView {
  std::span<const float> params;
  NormalizerView normalizer;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // Iteration number `iteration` (from 0), on all ranks together. `riders` are the loop's own numbers: they travel in
  // the iteration's one float64 all-reduce and come back summed over the ranks.
  virtual void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) = 0;
  virtual const IterationStats& stats() const = 0;
  // The algorithm's own numbers of that iteration, reduced over all ranks; always the same ones in the same order.
  virtual std::vector<Metric> metrics() const = 0;
  virtual int64_t env_steps_per_iteration() const = 0;  // of this rank
  virtual void visit_state(StateVisitor& visitor) = 0;
  // The state was changed from outside (loaded, broadcast).
  virtual void state_changed() = 0;
  // The policy as it is now, until the next iteration.
  virtual PolicyView policy() = 0;
  // From now on, whatever the state says.
  virtual void set_learning_rate(double learning_rate) = 0;
  // Fingerprints of the replicated state that lies in a queue's memory, as the last iteration began: one of each rank,
  // which travelled in the iteration's float64 all-reduce; and this rank's, one for each such field of visit_state.
  virtual std::span<const double> fingerprints() const = 0;
  virtual std::vector<uint64_t> field_fingerprints() const = 0;
};

}  // namespace drl
