// Plays whole episodes with a fixed policy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/collector.hpp"
#include "comm/communicator.hpp"
#include "envs/env_setup.hpp"
#include "policy/actor.hpp"
#include "store/recording.hpp"

namespace drl {

struct EvaluationPlan {
  std::string task;
  int64_t episodes = 100;
  int64_t num_envs = 100;  // each plays ceil(episodes / num_envs), so that long and short episodes count alike
  uint64_t seed = 0;
  ActionChoice choice = ActionChoice::most_probable;
  EnvSetup setup = {};                   // see EnvConfig
  int threads = 1;                       // see EnvConfig
  std::vector<float> curriculum = {};    // curriculum values; empty: the initial ones of the task
  std::function<void()> each_step = {};  // called after each step, if given
  int64_t first_env = 0;                 // the number of the first environment, of those that all ranks play
};

struct Evaluation {
  std::vector<double> returns;   // undiscounted, one per episode
  std::vector<int64_t> lengths;  // steps
  int64_t lost = 0;              // episodes that ended because a value was not finite; not in the two lists above
  // The means of the task's metrics over the first episode of each environment, in the order of TaskSpec::metrics.
  std::vector<double> metrics;
};

struct Summary {
  double mean = 0, std = 0, min = 0, max = 0;  // std divides by n - 1, and is 0 for one value; all are NaN for none
};
template <class T>
Summary summarize(const std::vector<T>& values);

// Plays the episodes with a policy on a host queue. Initial states depend only on the seed, differ from those of
// training, and have age zero. `on_episode`, if given, receives every episode in full.
Evaluation evaluate(const EvaluationPlan& plan, Actor& actor,
                    const std::function<void(const Episode&)>& on_episode = nullptr);

// Collective: each rank plays an equal part of plan.num_envs environments with the same policy, one episode each.
// Returns the results of all of them on rank 0, where returns and lengths are sorted, and those of its own on others.
Evaluation evaluate_together(EvaluationPlan plan, Actor& actor, Communicator& comm);

// The progress of an environment that is being watched.
struct Moment {
  int64_t step = 0;     // since the start, over all episodes
  int64_t episode = 0;  // index, from 0
  int64_t age = 0;      // number of steps in this episode
  double reward = 0;    // sum of the rewards in this episode
};

// Plays the environments of evaluate() step by step, with the same initial states and noise, episode after episode.
class Player {
 public:
  // `actor` must outlive this object.
  Player(const EvaluationPlan& plan, Actor& actor);
  // Steps all environments. Those whose episode ends begin the next one.
  void step();
  // Begins the next episode of all environments.
  void restart();
  VecEnv& envs() { return *envs_; }
  const VecEnv& envs() const { return *envs_; }
  const Moment& moment() const { return moment_; }  // of environment 0; after its episode's last step, of the next one
  // Returns the observations [num_envs, obs_dim] of the current state.
  const float* observations() const { return rollout_.view().obs; }
  // Returns the actions [num_envs, numbers] of 4 bytes that the environments received in the last step.
  const void* received_actions() const { return envs_->received_actions(rollout_.row(0)); }

 private:
  uint64_t seed_;
  Actor& actor_;
  std::unique_ptr<VecEnv> envs_;
  Rollout rollout_;
  Collector collector_;
  Moment moment_;
};

// Plays only environment 0 of evaluate(), with the same initial states and noise, episode after episode. Calls
// `on_moment` at the start and after each step, until it returns false. After an episode's last step, it sees the start
// of the next episode.
void watch(const EvaluationPlan& plan, Actor& actor, const std::function<bool(VecEnv&, const Moment&)>& on_moment);

}  // namespace drl
