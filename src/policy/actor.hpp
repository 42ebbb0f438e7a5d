// Turns observations into actions. The collector, the evaluator, drl_eval and its videos use this class, so that a
// policy acts alike everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "device/array.hpp"
#include "nets/nets.hpp"
#include "policy/actor_kernels.hpp"
#include "policy/spec.hpp"

namespace drl {

// A policy that acts: its specification, weights, normaliser and distribution, on a queue. All functions enqueue.
class Actor {
 public:
  // `params` [layout.size()] and the normaliser's arrays are in the queue's memory. The caller owns them and the
  // referenced objects, which must all outlive the Actor (`spec` need not).
  Actor(Queue& queue, Nets& nets, const PolicySpec& spec, const float* params, const NormalizerView& normalizer);

  // Must be called when the parameters have changed.
  void repack() { nets_.repack(*weights_); }
  // Must be called before sampling with new parameters. The standard deviations of continuous actions then stay as they
  // are until the next call, also while an update changes the parameters.
  void begin();
  // Computes the outputs [count, outputs] of the actor's network for obs [count, observations]. Recurrent layers take a
  // step from the states of environments first_env, first_env + 1, ..., at most tile() of them.
  void forward(const float* obs, int64_t count, float* out, int64_t first_env = 0);
  // Computes the outputs for environments [begin, begin + count) of a row, and chooses their actions.
  void act(const ActionRow& row, const ActionSource& source, LifetimeStep step, int64_t begin, int64_t count);

  // The states of recurrent layers. A policy without such layers has none, and these functions do nothing.
  // Allocates those of `num_envs` environments, all at the beginning of an episode.
  void begin_episodes(int64_t num_envs);
  // Returns all environments to the beginning of an episode.
  void restart_episodes();
  // Does so for those of environments [begin, begin + count) whose episode has ended in a step.
  void end_step(const uint8_t* terminated, const uint8_t* truncated, int64_t begin, int64_t count);
  Array<float>& states() { return states_; }  // [num_envs, state_size()]
  int state_size() const { return rnn_.state_size(); }

  Queue& queue() const { return queue_; }
  int64_t tile() const { return nets_.tile(); }  // rows that pass through the network at once
  const Weights& weights() const { return *weights_; }
  const Distribution& distribution() const { return distribution_; }
  // Returns the standard deviations [action size] of the last begin(); empty for discrete actions.
  const Array<float>& std() const { return std_; }
  int outputs() const { return outputs_; }

 private:
  Queue& queue_;
  Nets& nets_;
  NetId net_;
  RnnSpec rnn_;
  int inputs_, outputs_;
  NormalizerView normalizer_;
  std::unique_ptr<Weights> weights_;
  Array<float> low_, high_, std_;
  Array<int32_t> heads_;  // number of choices of each head; empty for a single head
  Distribution distribution_;
  std::optional<RnnStep> rnn_step_;
  Array<float> states_;
};

}  // namespace drl
