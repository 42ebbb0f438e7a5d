// Steps environments in tests and reads their results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/rollout.hpp"
#include "all_state.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"

namespace drl {

struct Stepped {
  // With `every_end`, the last observation of every episode is stored, not only of truncated ones.
  Stepped(const std::string& task, EnvConfig config, int64_t steps, Isa isa = available_isas().back(),
          bool every_end = false)
      : queue(make_host_queue(isa)),
        envs(make_env(task, config, *queue)),
        rollout(*queue, envs->spec(), steps, config.num_envs, every_end),
        n(config.num_envs),
        first(config.first_global_index) {
    envs->reset(*queue, rollout.start_row(), {});
  }
  // Takes steps [begin, end) with actions that depend on the environment's global index and the step.
  void step(int64_t begin, int64_t end, int64_t tile = 1 << 20) {
    const int size = envs->spec().action.size;
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t k = 0; k < n * size; ++k)
        r.env_action[k] = static_cast<float>(std::sin(3. * static_cast<double>(first * size + k) + 2. * t));
      step_with_given_actions(t, tile);
    }
  }
  // Takes step t with the actions in r.env_action, or in row t of r.action.
  void step_with_given_actions(int64_t t, int64_t tile = 1 << 20) {
    for (int64_t at = 0; at < n; at += tile) envs->step(*queue, {&t}, at, std::min(tile, n - at), rollout.row(t));
  }
  // Takes steps [begin, end) with the same action in all environments.
  void step_with(float action, int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      std::fill_n(r.env_action, n * static_cast<int64_t>(envs->spec().action.low.size()), action);
      step_with_given_actions(t);
    }
  }
  EpisodeSums episodes() {
    std::vector<double> sums(episode_columns(envs->spec())), scratch(sum_scratch(*queue, sums.size()));
    envs->take_episode_sums(*queue, sums.data(), scratch.data());
    return read_episodes(sums.data(), envs->spec());
  }
  // Returns the observations, the critic's observations, rewards and flags of environment i over `steps` steps.
  std::vector<float> numbers(int64_t i, int64_t steps) const {
    const int obs = envs->spec().obs_dim, critic = envs->spec().critic_obs_dim;
    std::vector<float> all;
    for (int64_t t = 0; t <= steps; ++t) {
      const float *actor_obs = r.obs + (t * n + i) * obs, *critic_obs = r.critic_obs + (t * n + i) * critic;
      all.insert(all.end(), actor_obs, actor_obs + obs);
      all.insert(all.end(), critic_obs, critic_obs + critic);
      if (t == steps) break;
      all.insert(all.end(), {r.reward[t * n + i], static_cast<float>(r.terminated[t * n + i]),
                             static_cast<float>(r.truncated[t * n + i])});
    }
    return all;
  }
  std::unique_ptr<Queue> queue;
  std::unique_ptr<VecEnv> envs;
  Rollout rollout;
  int64_t n, first;
  const RolloutView& r = rollout.view();
};

// Returns the trajectories of 48 environments that are stepped on `ranks` ranks with `threads` threads each.
inline std::vector<std::vector<float>> trajectories(const std::string& task, int64_t ranks, int threads, int64_t tile,
                                                    const EnvSetup& params = {}) {
  constexpr int64_t kEnvs = 48, kSteps = 70;
  std::vector<std::vector<float>> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t n = kEnvs / ranks;
    Stepped s(task, {.num_envs = n, .first_global_index = rank * n, .seed = 3, .setup = params, .threads = threads},
              kSteps);
    s.step(0, kSteps, tile);
    for (int64_t i = 0; i < n; ++i) all.push_back(s.numbers(i, kSteps));
  }
  return all;
}

// Expects the same trajectories, which differ between environments, on several threads, in tiles and on two ranks.
inline void expect_independent_trajectories(const std::string& task, int64_t tile, const EnvSetup& params = {}) {
  const auto one = trajectories(task, 1, 1, 48, params);
  EXPECT_NE(one[0], one[1]) << task;
  EXPECT_EQ(trajectories(task, 1, 3, 48, params), one) << task << " on three threads";
  EXPECT_EQ(trajectories(task, 1, 2, tile, params), one) << task << " in tiles";
  EXPECT_EQ(trajectories(task, 2, 1, 24, params), one) << task << " on two ranks";
}

// Expects that environments continue identically when their state is copied in the middle of an episode. The state must
// contain the fields `names`.
inline void expect_resumes_from_state(const std::string& task, const std::vector<std::string>& names,
                                      const EnvSetup& params = {}) {
  Stepped whole(task, {.num_envs = 20, .seed = 5, .setup = params}, 50),
      first(task, {.num_envs = 20, .seed = 5, .setup = params, .threads = 2}, 50),
      second(task, {.num_envs = 20, .seed = 5, .setup = params}, 50);
  whole.step(0, 50);
  first.step(0, 17);
  const AllState from(*first.envs);
  for (const std::string& name : names) EXPECT_TRUE(from.fields.count(name)) << name;
  AllState(*second.envs).write(from.bytes());
  second.step(17, 50);
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<float> theirs = whole.numbers(i, 50), ours = second.numbers(i, 50);
    const long since = static_cast<long>(theirs.size()) / 50 * 18;
    EXPECT_TRUE(std::equal(theirs.begin() + since, theirs.end(), ours.begin() + since)) << i;
  }
}

}  // namespace drl
