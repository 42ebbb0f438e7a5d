#include "algorithms/batch_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/mentions.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

using namespace test;

BatchPlan plan(int64_t envs, int64_t steps, int rank, int world, int shards, int mini_batches) {
  return {envs, steps, rank, world, shards, mini_batches};
}

// Returns the message of check(), or "" if it accepts the plan.
std::string problem(const BatchPlan& p) {
  try {
    p.check("ppo", "--num_steps_per_env");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(BatchPlan, AcceptsNumbersThatDivideEvenly) {
  EXPECT_EQ(problem(plan(4096, 32, 0, 1, 1, 4)), "");
  EXPECT_EQ(problem(plan(1, 16, 0, 1, 1, 4)), "");  // one environment, four steps per mini-batch
  EXPECT_EQ(problem(plan(8, 2, 1, 2, 4, 8)), "");   // 2 shards of 4 environments: 8 samples each, 1 per mini-batch
  EXPECT_EQ(problem(plan(3, 5, 0, 1, 3, 5)), "");
}

TEST(BatchPlan, SuggestsTheNearestNumbersOfEnvironments) {
  expect_mentions(problem(plan(10, 3, 0, 1, 1, 4)), {"--num_envs 10 ", "--num_steps_per_env 3 ", "4 equal mini-batches",
                                                     "ppo.num_mini_batches", ": use --num_envs 8 or 12"});
  EXPECT_TRUE(problem(plan(3, 3, 0, 1, 1, 4)).ends_with(": use --num_envs 4"));
  // 6 steps and 4 mini-batches need an even number of environments in each of 4 shards.
  expect_mentions(problem(plan(20, 6, 0, 1, 4, 4)), {"--num_envs 20 ", "4 shards", ": use --num_envs 16 or 24"});
}

TEST(BatchPlan, EachRankOwnsWholeShards) {
  expect_mentions(problem(plan(8, 4, 0, 4, 6, 1)), {"--shards 6 ", "4 ranks", "use a multiple of 4"});
}

TEST(BatchPlan, IndicesFitIn32Bits) {
  expect_mentions(problem(plan(1 << 24, 1 << 8, 0, 1, 1, 1)),
                  {"--num_envs", "--num_steps_per_env", "4294967296 samples", "2^31", "fewer environments"});
}

// Returns the rows of mini-batch m of an epoch, in iteration 7 and with seed 3.
std::vector<int32_t> mini_batch(const BatchPlan& p, int epoch, int m) {
  return in_every_way([&](const Loops& loops) {
    UpdateNumbers numbers{};
    numbers.iteration = 7, numbers.mini_batch = epoch * p.num_mini_batches + m;
    std::vector<int32_t> rows(static_cast<size_t>(p.rows()));
    loops(p.rows(), MiniBatchRows{{p, 3}, &numbers, rows.data()});
    return rows;
  });
}

// Compares with slice m of each shard's permutation of (step, environment). Shards have 10 or 20 rows, so packs of all
// sizes cross their borders. The last plan has 10^9 samples.
TEST(MiniBatchRows, AreSlicesOfEachShardsPermutation) {
  for (const BatchPlan& p : {plan(16, 10, 0, 1, 4, 4), plan(16, 10, 1, 2, 4, 4), plan(8, 10, 2, 4, 4, 4),
                             plan(1 << 20, 1000, 0, 1, 1, 1 << 20)})
    for (int m = 0; m < 4; ++m) {
      std::vector<int32_t> expected;
      for (int local = 0; local < p.local_shards(); ++local) {
        const auto envs = p.num_envs / p.local_shards(), first = local * envs;
        const Permutation permutation(3, 7, 2, static_cast<uint64_t>(p.rank * p.local_shards() + local),
                                      static_cast<uint32_t>(envs * p.num_steps));
        const int64_t rows = envs * p.num_steps / p.num_mini_batches;
        for (int64_t i = m * rows; i < (m + 1) * rows; ++i) {
          const uint32_t sample = permutation(static_cast<uint32_t>(i));
          expected.push_back(static_cast<int32_t>(sample / envs * p.num_envs + first + sample % envs));
        }
      }
      EXPECT_EQ(mini_batch(p, 2, m), expected) << "rank " << p.rank << " of " << p.world_size;
    }
}

// (step, global environment) of samples.
using Samples = std::multiset<std::pair<int64_t, int64_t>>;

// Returns the samples of mini-batch m on all ranks.
Samples samples_of(int64_t total_envs, int64_t steps, int world, int shards, int mini_batches, int epoch, int m) {
  Samples samples;
  for (int rank = 0; rank < world; ++rank) {
    const BatchPlan p = plan(total_envs / world, steps, rank, world, shards, mini_batches);
    for (int32_t row : mini_batch(p, epoch, m))
      samples.insert({row / p.num_envs, rank * p.num_envs + row % p.num_envs});
  }
  return samples;
}

TEST(MiniBatchRows, EveryEpochUsesEverySampleOnce) {
  for (int shards : {1, 2, 4})
    for (int mini_batches : {1, 4, 8}) {
      Samples all;
      for (int m = 0; m < mini_batches; ++m) {
        const Samples part = samples_of(16, 10, 1, shards, mini_batches, 2, m);
        EXPECT_EQ(part.size(), 160u / mini_batches);
        all.insert(part.begin(), part.end());
      }
      EXPECT_EQ(all.size(), 160u);
      for (int64_t step = 0; step < 10; ++step)
        for (int64_t env = 0; env < 16; ++env)
          EXPECT_EQ(all.count({step, env}), 1u) << shards << " shards, " << mini_batches << " mini-batches";
    }
}

TEST(MiniBatchRows, AreTheSameForOneTwoAndFourRanks) {
  for (int mini_batches : {1, 4})
    for (int m = 0; m < mini_batches; ++m) {
      const Samples one = samples_of(16, 10, 1, 4, mini_batches, 0, m);
      EXPECT_EQ(one, samples_of(16, 10, 2, 4, mini_batches, 0, m));
      EXPECT_EQ(one, samples_of(16, 10, 4, 4, mini_batches, 0, m));
    }
}

// Mini-batches of recurrent networks: those of whole environments, time step after time step.
BatchPlan sequences(BatchPlan p) {
  p.sequences = true;
  return p;
}

TEST(BatchPlan, RecurrentNetworksNeedWholeEnvironmentsInMiniBatches) {
  EXPECT_EQ(problem(plan(6, 8, 0, 1, 1, 4)), "");
  expect_mentions(problem(sequences(plan(6, 8, 0, 1, 1, 4))),
                  {"--num_envs 6 ", "ppo.num_mini_batches", "whole environments", ": use --num_envs 4 or 8"});
  EXPECT_EQ(problem(sequences(plan(16, 7, 1, 2, 4, 4))), "");
}

TEST(SequenceRows, AreSlicesOfEachShardsPermutationOfEnvironments) {
  for (const BatchPlan& p : {sequences(plan(24, 5, 0, 1, 2, 3)), sequences(plan(24, 5, 1, 2, 4, 4))})
    for (int m = 0; m < p.num_mini_batches; ++m) {
      const int64_t envs = p.envs_per_shard(), part = envs / p.num_mini_batches;
      std::vector<int32_t> first_step, expected;
      for (int local = 0; local < p.local_shards(); ++local) {
        const Permutation permutation(3, 7, 2, static_cast<uint64_t>(p.rank * p.local_shards() + local),
                                      static_cast<uint32_t>(envs));
        for (int64_t i = m * part; i < (m + 1) * part; ++i)
          first_step.push_back(static_cast<int32_t>(local * envs + permutation(static_cast<uint32_t>(i))));
      }
      for (int32_t t = 0; t < p.num_steps; ++t)
        for (int32_t env : first_step) expected.push_back(t * static_cast<int32_t>(p.num_envs) + env);
      const std::vector<int32_t> rows = in_every_way([&](const Loops& loops) {
        UpdateNumbers numbers{};
        numbers.iteration = 7, numbers.mini_batch = 2 * p.num_mini_batches + m;
        std::vector<int32_t> rows(static_cast<size_t>(p.rows()));
        loops(p.rows() / p.num_steps, SequenceRows{{p, 3}, &numbers, rows.data()});
        return rows;
      });
      EXPECT_EQ(rows, expected) << m;
      // The moments of a mini-batch's advantages use the same rows.
      for (int64_t i = 0; i < p.rows(); ++i)
        EXPECT_EQ((MiniBatches{p, 3}.rows<float>(7, static_cast<uint32_t>(2 * p.num_mini_batches + m), i)),
                  expected[static_cast<size_t>(i)]);
    }
}

// The moments that normalise a mini-batch are summed over the rows of that mini-batch.
TEST(MiniBatchMoments, AreSumsOverTheRowsOfTheMiniBatch) {
  const BatchPlan p = plan(16, 10, 1, 2, 4, 4);  // 20 rows of each shard per mini-batch
  Random random(1);
  const std::vector<float> advantage = uniforms(random, p.num_envs * p.num_steps, -1, 3);
  const UpdateInputs inputs{.iteration = 7, .learning_rate = 0, .desired_kl = 0.01, .entropy_coef = 0};
  const std::vector<double> sums = in_every_way([&](const Loops& loops) {
    std::vector<double> lanes(16 * kSumLanes), out(16);
    loops(p.rows(), HostSumRows<MiniBatchMoments>{{{p, 3}, &inputs, 8, advantage.data()}, lanes.data()});
    for (int64_t c = 0; c < 16; ++c) FinalSums<StoreTo>{{out.data()}, lanes.data(), kSumLanes, 1, kSumLanes}(c);
    return out;
  });
  for (int update = 0; update < 8; ++update) {
    double sum = 0, squares = 0;
    for (int32_t row : mini_batch(p, update / 4, update % 4))
      sum += double{advantage[row]}, squares += double{advantage[row]} * advantage[row];
    EXPECT_NEAR(sums[2 * update], sum, 1e-12 * 40) << update;
    EXPECT_NEAR(sums[2 * update + 1], squares, 1e-12 * 200) << update;
  }
}

}  // namespace
}  // namespace drl
