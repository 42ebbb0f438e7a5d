// Collects rollouts: steps the environments with the policy.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "algorithms/rollout.hpp"
#include "envs/vec_env.hpp"
#include "policy/actor.hpp"

namespace drl {

class Collector {
 public:
  // The caller owns the referenced objects, which must outlive the Collector. A recurrent actor begins all episodes.
  Collector(Actor& actor, VecEnv& envs, Rollout& rollout, const ActionSource& source);

  // Enqueues the collection of a rollout, starting from the observations in row 0. `first_step`, in the queue's memory,
  // is the environments' lifetime step at row 0.
  void collect(const int64_t* first_step);
  // These collect a rollout step by step: call begin(), and then step() for each row t. The host and the policy never
  // work at the same time.
  void begin();
  void step(const int64_t* first_step, int64_t t, ActionChoice choice);
  // From now on, collect() and step() call `each_step` after each step of the
  // environments.
  void call_each_step(std::function<void()> each_step) { each_step_ = std::move(each_step); }

 private:
  Actor& actor_;
  VecEnv& envs_;
  Rollout& rollout_;
  ActionSource source_;
  std::function<void()> each_step_;
};

}  // namespace drl
