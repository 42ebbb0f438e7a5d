// Environments of robots and what they give, step by step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/rollout.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"

namespace drl {

struct Stepped {
  Stepped(const std::string& task, EnvConfig config, int64_t steps)
      : queue(make_host_queue(available_isas().back())),
        envs(make_env(task, config, *queue)),
        rollout(*queue, envs->spec(), steps, config.num_envs),
        n(config.num_envs),
        first(config.first_global_index) {
    envs->reset(*queue, rollout.start_row(), {});
  }
  // Whose actions are those of the environment's global index and the step.
  void step(int64_t begin, int64_t end, int64_t tile = 1 << 20) {
    const int size = envs->spec().action.size;
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t k = 0; k < n * size; ++k)
        r.env_action[k] = static_cast<float>(std::sin(3. * static_cast<double>(first * size + k) + 2. * t));
      step_as_told(t, tile);
    }
  }
  void step_as_told(int64_t t, int64_t tile = 1 << 20) {
    for (int64_t at = 0; at < n; at += tile) envs->step(*queue, {&t}, at, std::min(tile, n - at), rollout.row(t));
  }
  EpisodeSums episodes() {
    std::vector<double> sums(episode_columns(envs->spec())), scratch(sum_scratch(*queue, sums.size()));
    envs->take_episode_sums(*queue, sums.data(), scratch.data());
    return read_episodes(sums.data(), envs->spec());
  }
  // Of environment i over `steps` steps: observations, the critic's, rewards, flags.
  std::vector<float> numbers(int64_t i, int64_t steps) const {
    const int obs = envs->spec().obs_dim, critic = envs->spec().critic_obs_dim;
    std::vector<float> all;
    for (int64_t t = 0; t <= steps; ++t) {
      const float *seen = r.obs + (t * n + i) * obs, *seen_by_critic = r.critic_obs + (t * n + i) * critic;
      all.insert(all.end(), seen, seen + obs);
      all.insert(all.end(), seen_by_critic, seen_by_critic + critic);
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

struct AllState final : StateVisitor {
  explicit AllState(VecEnv& envs) { envs.visit_state(*this); }
  void field(const StateField& field) override { fields[field.name] = field; }
  std::map<std::string, StateField> fields;
};

// Of 48 environments, on so many ranks and threads.
inline std::vector<std::vector<float>> trajectories(const std::string& task, int64_t parts, int threads, int64_t tile) {
  constexpr int64_t kEnvs = 48, kSteps = 70;
  std::vector<std::vector<float>> all;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t n = kEnvs / parts;
    Stepped s(task, {.num_envs = n, .first_global_index = part * n, .seed = 3, .threads = threads}, kSteps);
    s.step(0, kSteps, tile);
    for (int64_t i = 0; i < n; ++i) all.push_back(s.numbers(i, kSteps));
  }
  return all;
}

// What the state holds is all that counts, in the middle of an episode too; among others it has these.
inline void expect_going_on(const std::string& task, const std::vector<std::string>& names) {
  Stepped whole(task, {.num_envs = 20, .seed = 5}, 50), first(task, {.num_envs = 20, .seed = 5, .threads = 2}, 50),
      second(task, {.num_envs = 20, .seed = 5}, 50);
  whole.step(0, 50);
  first.step(0, 17);
  const AllState from(*first.envs), to(*second.envs);
  for (const std::string& name : names) EXPECT_TRUE(from.fields.count(name)) << name;
  for (const auto& [name, field] : to.fields) field.write(from.fields.at(name).read());
  second.step(17, 50);
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<float> theirs = whole.numbers(i, 50), ours = second.numbers(i, 50);
    const long since = static_cast<long>(theirs.size()) / 50 * 18;
    EXPECT_TRUE(std::equal(theirs.begin() + since, theirs.end(), ours.begin() + since)) << i;
  }
}

}  // namespace drl
