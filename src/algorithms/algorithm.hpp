// The interface between the training loop and a learning algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/slots.hpp"
#include "base/metric.hpp"
#include "comm/communicator.hpp"
#include "device/state.hpp"
#include "envs/vec_env.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// Results of an iteration that the training loop itself uses.
struct IterationStats {
  EpisodeSums episodes;                           // summed over all ranks
  std::vector<float> curriculum = {};             // the next iteration's curriculum; empty if the task has none
  double collection_time = 0, learning_time = 0;  // of this rank, in seconds
};

// A policy in host memory: the networks' parameters and the normaliser of the actor's observations.
struct PolicyView {
  std::span<const float> params;
  NormalizerView normalizer;
};

// Properties in which the kinds of algorithms differ.
struct AlgorithmTraits {
  std::string_view name, title;  // "ppo", "PPO"
  bool has_critic = false;
  bool collects_episodes = false;  // whole ones, instead of a number of steps
  bool needs_teacher = false;
  bool is_off_policy = false;  // it has a replay buffer, and its critics, which receive actions, are not the policy's
};

// The options in which an algorithm deviates from a task's own preset, in the syntax of --config files.
struct PresetDeviation {
  std::string_view task;  // "": all tasks; "-Velocity-": all whose names contain this
  std::string_view text;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // Runs iteration number `iteration` (from 0) on all ranks together.
  virtual void iterate(int64_t iteration, Communicator& comm) = 0;
  // Returns the sums of the iteration's only float64 all-reduce. The training loop adds places of its own before the
  // first iteration. They also hold the fingerprints of the replicated state in the queue's memory, computed before
  // the last iteration's update.
  virtual Slots& slots() = 0;
  virtual const IterationStats& stats() const = 0;
  // Returns the algorithm's metrics of the last iteration, reduced over all ranks. The metrics and their order never
  // change during a run.
  virtual std::vector<Metric> metrics() const = 0;
  virtual int64_t env_steps_per_iteration() const = 0;  // of this rank
  virtual void visit_state(StateVisitor& visitor) = 0;
  // Must be called after the state was changed from outside (by loading or broadcasting it).
  virtual void state_changed() = 0;
  // Returns the current policy; the view is valid until the next iteration.
  virtual PolicyView policy() = 0;
  // Sets the learning rate to that of the options, overriding the one in the state.
  virtual void restart_learning_rate() = 0;
};

}  // namespace drl
