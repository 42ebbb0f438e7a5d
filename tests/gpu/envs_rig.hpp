// Compares a task's environments on a host queue with those on a GPU queue.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/rollout.hpp"
#include "device/reduce.hpp"
#include "drl/lanes/philox.hpp"
#include "envs/make_env.hpp"
#include "gpu_rig.hpp"

namespace drl::test {

inline constexpr int64_t kSteps = 50, kFirstStep = 40;
inline constexpr uint64_t kSeed = 11;

// The fields of a state by name, as bytes.
struct Fields final : StateVisitor {
  void field(const StateField& field) override { values[field.name] = field.read(); }
  std::map<std::string, std::vector<std::byte>> values;
};

// Environments on a queue, with the rollout that they write.
struct Side {
  Side(std::unique_ptr<Queue> on, const std::string& task_name, int64_t n)
      : queue(std::move(on)),
        task(task_name),
        envs(make_env(task, {n, 1000, kSeed, true}, *queue)),
        rollout(*queue, envs->spec(), kSteps, n, true),
        first_step(*queue, 1) {
    envs->reset(*queue, rollout.start_row(), {});
  }

  // Steps all environments through a rollout, starting from lifetime step `first`.
  void collect(int64_t first) {
    queue->copy(first_step.data(), &first, 1);
    queue->synchronize();
    rollout.begin();
    for (int64_t t = 0; t < kSteps; ++t) {
      act(first + t, t);
      envs->step(*queue, {first_step.data(), t}, 0, envs->num_envs(), rollout.row(t));
    }
  }
  // Writes random actions that depend only on the environment's index and the step.
  void act(int64_t step, int64_t t) {
    const ActionSpace& space = envs->spec().action;
    const int64_t n = envs->num_envs();
    const RolloutView& r = rollout.view();
    std::vector<int32_t> choices;
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < space.numbers(); ++k) {
        const float uniform = uniform01(random_bits(kSeed, Purpose::benchmark, static_cast<uint64_t>(1000 + i),
                                                    static_cast<uint64_t>(step), static_cast<uint32_t>(k / 4))[k % 4]);
        if (space.discrete) {
          choices.push_back(static_cast<int32_t>(uniform * static_cast<float>(space.choices(k))));
        } else {
          const float low = std::max(space.low[k], -5.0f),
                      high = std::min(space.high[k], 5.0f);  // limits unbounded actions to +-5
          values.push_back(low + (high - low) * uniform);
        }
      }
    queue->copy(reinterpret_cast<int32_t*>(r.action) + t * n * space.numbers(), choices.data(), choices.size());
    queue->copy(r.env_action, values.data(), values.size());
    queue->synchronize();
  }

  std::map<std::string, std::vector<std::byte>> state() {
    Fields fields;
    envs->visit_state(fields);
    return fields.values;
  }
  std::vector<double> take_episodes() {
    const auto columns = static_cast<int64_t>(episode_columns(envs->spec()));
    Array<double> out(*queue, static_cast<size_t>(columns)), scratch(*queue, sum_scratch(*queue, columns));
    envs->take_episode_sums(*queue, out.data(), scratch.data());
    return to_host(*queue, out);
  }
  template <class T>
  std::vector<T> numbers(T* RolloutView::*array, int64_t width) {
    const RolloutView& r = rollout.view();
    return to_host(*queue, r.*array, static_cast<size_t>(r.samples() * width));
  }
  std::vector<int32_t> last_counts() {
    return to_host(*queue, rollout.view().last_count, static_cast<size_t>(envs->num_envs()));
  }

  std::unique_ptr<Queue> queue;
  std::string task;
  std::unique_ptr<VecEnv> envs;
  Rollout rollout;
  Array<int64_t> first_step;
};

inline void expect_same_sums(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    const bool counted = k == 0 || k == 2;  // the number of episodes, and that of their steps
    EXPECT_NEAR(actual[k], expected[k], counted ? 0 : 1e-9 * std::abs(expected[k]) + 1e-9) << k;
  }
}

// Expects that n environments of a task are bit-identical on both queues for the given number of rollouts. Returns the
// number of episodes that ended.
inline int64_t expect_same_environments(const std::string& task, int64_t n, int64_t rollouts) {
  Side host(make_host_queue(isa_of("auto")), task, n), gpu(make_gpu_queue(), task, n);
  const int64_t dim = host.envs->spec().obs_dim;
  int64_t ends = 0;
  for (int64_t first = kFirstStep; first < kFirstStep + rollouts * kSteps; first += kSteps) {
    host.collect(first), gpu.collect(first);
    const auto expect_same = [&](auto array, int64_t width, const char* name) {
      EXPECT_EQ(gpu.numbers(array, width), host.numbers(array, width)) << name << " from step " << first;
    };
    expect_same(&RolloutView::obs, dim, "observations");
    expect_same(&RolloutView::reward, 1, "rewards");
    expect_same(&RolloutView::terminated, 1, "terminated");
    expect_same(&RolloutView::truncated, 1, "truncated");
    expect_same(&RolloutView::last_obs, dim, "last observations");
    if (const int64_t critic = host.envs->spec().critic_obs_dim; critic > 0) {
      expect_same(&RolloutView::critic_obs, critic, "critic's observations");
      expect_same(&RolloutView::last_critic_obs, critic, "critic's last observations");
    }
    EXPECT_EQ(gpu.last_counts(), host.last_counts()) << "from step " << first;
    EXPECT_EQ(gpu.state(), host.state()) << "from step " << first;
    if (testing::Test::HasFailure()) return 0;
    for (const auto array : {&RolloutView::terminated, &RolloutView::truncated})
      for (uint8_t end : host.numbers(array, 1)) ends += end;
    host.rollout.roll_over(), gpu.rollout.roll_over();
  }
  const std::vector<double> episodes = gpu.take_episodes();
  expect_same_sums(episodes, host.take_episodes());
  EXPECT_EQ(gpu.take_episodes(), std::vector<double>(episodes.size(), 0.0));
  return ends;
}

}  // namespace drl::test
