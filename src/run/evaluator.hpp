// Whole episodes with a fixed policy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/actor_critic.hpp"
#include "algorithms/algorithm_kernels.hpp"
#include "envs/vec_env.hpp"
#include "nets/nets.hpp"
#include "store/recording.hpp"

namespace drl {

struct EvaluationPlan {
  std::string task;
  int64_t episodes = 100;
  int64_t num_envs = 100;  // each plays ceil(episodes / num_envs), so that long episodes count as short ones do
  uint64_t seed = 0;
  ActionChoice choice = ActionChoice::most_probable;
  std::vector<std::byte> params = {};  // EnvConfig's
  int threads = 1;                     // EnvConfig's
  std::vector<float> curriculum = {};  // the numbers of its curriculum; empty: as its header says
};

struct Evaluation {
  std::vector<double> returns;   // undiscounted, one an episode
  std::vector<int64_t> lengths;  // steps
  int64_t lost = 0;              // episodes of environments that were lost (drl/task.hpp): they are not in the above
};

struct Summary {
  double mean = 0, std = 0, min = 0, max = 0;  // std with n - 1 below; 0 for one value. Of none: NaN
};
template <class T>
Summary summarize(const std::vector<T>& values);

// A policy on the host: networks, their weights, and the actor's normaliser.
struct PlayedPolicy {
  Queue& queue;
  Nets& nets;
  const ActorCritic& spec;
  const float* params;
  NormalizerView normalizer;
};

// Plays from starts that are a function of the seed (and are not training's), without random start ages. `on_episode`,
// if given, receives each episode in full.
Evaluation evaluate(const EvaluationPlan& plan, const PlayedPolicy& policy,
                    const std::function<void(const Episode&)>& on_episode = nullptr);

// Where an environment is that is watched.
struct Moment {
  int64_t step = 0;     // since the beginning, over all episodes
  int64_t episode = 0;  // from 0
  int64_t age = 0;      // steps in this episode
  double reward = 0;    // their sum
};

// Plays environment 0 of evaluate() alone, episode after episode: the same start, the same noise. `on_moment` sees the
// start, and then each step's outcome (of an episode's last step: the start of the next), until it gives false.
void watch(const EvaluationPlan& plan, const PlayedPolicy& policy,
           const std::function<bool(VecEnv&, const Moment&)>& on_moment);

}  // namespace drl
