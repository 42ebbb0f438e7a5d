// The kernels that turn a rollout's rewards into GRPO's advantages.
#include "algorithms/grpo/grpo_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"

namespace drl {
namespace {

using namespace test;

// Rewards [T, N] and the flags of steps that end an episode.
struct Example {
  Example(int64_t steps, int64_t envs, std::vector<float> rewards)
      : T(steps), N(envs), reward(std::move(rewards)), terminated(reward.size()), truncated(reward.size()) {}
  // Returns the return of each environment's first episode, and then their lengths.
  std::vector<float> first_episodes() {
    return in_every_way([&](const Loops& loops) {
      RolloutView r{};
      r.num_steps = T, r.num_envs = N, r.reward = reward.data();
      r.terminated = terminated.data(), r.truncated = truncated.data();
      std::vector<float> total(static_cast<size_t>(N));
      std::vector<int32_t> length(static_cast<size_t>(N));
      loops(N, FirstEpisodes{r, total.data(), length.data()});
      total.insert(total.end(), length.begin(), length.end());
      return total;
    });
  }
  int64_t T, N;
  std::vector<float> reward;
  std::vector<uint8_t> terminated, truncated;
};

// Four steps of three environments. The episode of the first continues, that of the second terminates at step 1 (and
// the next one at step 2), and that of the third is truncated at step 0.
TEST(FirstEpisodes, EqualAHandComputedExample) {
  Example e(4, 3, {1, 10, 100, 2, 20, 200, 3, 30, 300, 4, 40, 400});
  e.terminated[1 * 3 + 1] = e.terminated[2 * 3 + 1] = 1;
  e.truncated[0 * 3 + 2] = 1;
  EXPECT_EQ(e.first_episodes(), (std::vector<float>{1 + 2 + 3 + 4, 10 + 20, 100, 4, 2, 1}));
}

TEST(FirstEpisodes, EqualAScalarLoop) {
  constexpr int64_t T = 20, N = 37;
  Random random(3);
  Example e(T, N, uniforms(random, T * N, -1, 1));
  for (size_t i = 0; i < e.reward.size(); ++i) (random() % 2 ? e.terminated : e.truncated)[i] = random() % 16 == 0;
  const std::vector<float> all = e.first_episodes();
  for (int64_t i = 0; i < N; ++i) {
    float total = 0, length = 0;
    for (int64_t t = 0; t < T; ++t) {
      const auto at = static_cast<size_t>(t * N + i);
      total += e.reward[at], length += 1;
      if (e.terminated[at] || e.truncated[at]) break;
    }
    EXPECT_EQ(all[static_cast<size_t>(i)], total) << i;
    EXPECT_EQ(all[static_cast<size_t>(N + i)], length) << i;
  }
}

struct Groups {
  Groups(int64_t size, const std::vector<float>& returns)
      : advantage(returns.size()), deviation(returns.size() / size) {
    advantage = in_every_way([&](const Loops& loops) {
      std::vector<float> out(returns.size());
      loops(static_cast<int64_t>(deviation.size()),
            GroupAdvantages{size, returns.data(), out.data(), deviation.data()});
      return out;
    });
    std::vector<double> scratch(3 * kSumLanes), all(3);
    const Loops loops;
    sum_columns(loops.queue(), static_cast<int64_t>(deviation.size()), 3, scratch.data(),
                GroupColumns{deviation.data()}, StoreTo{all.data()});
    sums = all;
  }
  std::vector<float> advantage;
  std::vector<double> deviation, sums;
};

// Returns 1, 2, 6 have mean 3 and squared distances 4, 1, 9, so the unbiased standard deviation is sqrt(7). Returns
// 5, 5, 5 have standard deviation 0.
TEST(GroupAdvantages, EqualAHandComputedExample) {
  const Groups groups(3, {1, 2, 6, 5, 5, 5});
  const double by = std::sqrt(7.0) + 1e-4;
  const double expected[] = {-2 / by, -1 / by, 3 / by, 0, 0, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(groups.advantage[i], expected[i], 1e-7) << i;
  EXPECT_NEAR(groups.deviation[0], std::sqrt(7.0), 1e-12);
  EXPECT_EQ(groups.sums[0], 2);  // groups
  EXPECT_NEAR(groups.sums[1], std::sqrt(7.0), 1e-12);
  EXPECT_EQ(groups.sums[2], 1);  // groups whose returns are all equal
}

TEST(GroupAdvantages, DoNotDependOnTheOtherGroups) {
  Random random(1);
  const std::vector<float> returns = uniforms(random, 8 * 6, -100, 100);
  const Groups all(8, returns);
  for (size_t g = 0; g < 6; ++g) {
    const Groups one(
        8, {returns.begin() + static_cast<ptrdiff_t>(8 * g), returns.begin() + static_cast<ptrdiff_t>(8 * g + 8)});
    for (size_t k = 0; k < 8; ++k) EXPECT_EQ(all.advantage[8 * g + k], one.advantage[k]);
  }
}

}  // namespace
}  // namespace drl
