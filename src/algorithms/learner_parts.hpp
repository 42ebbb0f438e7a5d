// The arguments from which every learning algorithm is constructed.
#pragma once

#include <cstdint>
#include <memory>

#include "algorithms/batch_plan.hpp"
#include "algorithms/rollout.hpp"
#include "envs/vec_env.hpp"
#include "nets/nets.hpp"
#include "policy/options.hpp"
#include "policy/spec.hpp"

namespace drl {

// Sees each rollout of a learner, for diagnosis.
class RolloutWatch {
 public:
  virtual ~RolloutWatch() = default;
  // Enqueues work before the first step of a rollout, whose row 0 holds the observations. May allocate memory in its
  // first call only, because later ones may be recorded in a graph.
  virtual void rollout_begins(Queue& queue, VecEnv& envs, const RolloutView& rollout) = 0;
  // Called on the host when the iteration's work is done. `first_step` is the lifetime step of row 0, and `episodes`
  // are the sums over all ranks. Row 0 may already hold the next rollout's observations.
  virtual void rollout_ended(int64_t iteration, int64_t first_step, const RolloutView& rollout,
                             const EpisodeSums& episodes) = 0;
};

// The engine that computes a run's networks: a backend and its precision.
class Engine {
 public:
  virtual ~Engine() = default;
  // Makes networks of any layout, for passes with at most `rows` rows.
  virtual std::unique_ptr<Nets> make_nets(const ParamLayout& layout, int64_t rows) = 0;
  // Returns whether a GPU's work is recorded as graphs; otherwise, its kernels are launched one at a time.
  virtual bool records_graphs() const { return true; }
};

// A policy whose actions another one learns. Its parameters and its normaliser are in the queue's memory, and do not
// change.
struct Teacher {
  const PolicySpec& spec;
  Nets& nets;
  const float* params;  // [spec.layout.size()]
  NormalizerView normalizer;
  bool sees_critic_obs = false;  // it sees the critic's observations instead of the actor's
};

// The parts of a learner. The caller owns the referenced objects, and all but `policy` and `spec` must outlive the
// learner. `nets` must have the layout of `spec`.
struct LearnerParts {
  Queue& queue;
  const PolicyOptions& policy;
  BatchPlan plan;
  uint64_t seed;
  const PolicySpec& spec;
  Nets& nets;
  VecEnv& envs;
  RolloutWatch* watch = nullptr;     // null: nobody watches
  const Teacher* teacher = nullptr;  // of algorithms that have one
  Engine* engine = nullptr;          // null: the learner has no other networks than `nets`, and records its work

  bool records_graphs() const { return !engine || engine->records_graphs(); }
};

}  // namespace drl
