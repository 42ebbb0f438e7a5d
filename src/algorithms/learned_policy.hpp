// The policy that an algorithm trains: parameters, normalisers of observations, and the actor that collects rollouts.
#pragma once

#include <span>
#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/slots.hpp"
#include "nets/normalizer.hpp"
#include "policy/actor.hpp"

namespace drl {

struct Normalizers {
  NormalizerView obs, critic_obs;
  // Returns the normaliser of the critic's input. A critic without its own observations gets the actor's.
  NormalizerView critic() const { return critic_obs.mean ? critic_obs : obs; }
};

class LearnedPolicy {
 public:
  // Initialises the parameters from the seed. Adds the places of the observations' moments to `slots`. Throws
  // UsageError if the policy's options contradict each other.
  LearnedPolicy(const LearnerParts& parts, Slots& slots);

  const PolicySpec& spec() const { return spec_; }
  Actor& actor() { return actor_; }
  const Weights& weights() const { return actor_.weights(); }
  const Distribution& distribution() const { return actor_.distribution(); }
  float* parameters() { return parameters_.data(); }  // [spec().layout.size()], in the queue's memory
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }

  // Enqueues the moments of a rollout's observations.
  void enqueue_moments(const RolloutView& rollout, Slots& slots);
  // Enqueues the copy of the standard deviations to the host.
  void enqueue_end();
  // Merges the moments on the host. The normalisers are frozen from the first step of the collection to the last
  // mini-batch, so call this after the iteration.
  void end(const Slots& slots);

  // Returns the mean standard deviation of the actions with which the rollout was collected; NaN for discrete actions.
  double action_std() const;
  // Copies the parameters to host memory and returns them; valid until the next call.
  std::span<const float> host_parameters();
  Normalizers host_normalizers() const { return {obs_normalizer_.host_view(), critic_normalizer_.host_view()}; }
  PolicyView view() { return {host_parameters(), host_normalizers().obs}; }

  // Visits the parameters under their own names.
  void visit_parameters(StateVisitor& visitor);
  void visit_normalizers(StateVisitor& visitor);
  void state_changed();

 private:
  Queue& queue_;
  PolicySpec spec_;
  Array<float> parameters_, host_parameters_;
  Normalizer obs_normalizer_, critic_normalizer_;
  Slots::Place obs_moments_, critic_obs_moments_;
  Slots::Place state_std_;  // number and sum of the samples' standard deviations, if they depend on the state
  Actor actor_;
  Array<float> host_std_;
  double mean_state_std_ = 0;
  Array<double> scratch_;
};

}  // namespace drl
