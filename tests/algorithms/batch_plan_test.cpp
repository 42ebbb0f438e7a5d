#include "algorithms/batch_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

using namespace test;

BatchPlan plan(int64_t envs, int64_t steps, int rank, int world, int shards, int mini_batches) {
  return {envs, steps, rank, world, shards, mini_batches};
}

std::string complaint(const BatchPlan& p) {
  try {
    p.check("ppo", "--num_steps_per_env");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(BatchPlan, AcceptsWhatDivides) {
  EXPECT_EQ(complaint(plan(4096, 32, 0, 1, 1, 4)), "");
  EXPECT_EQ(complaint(plan(1, 16, 0, 1, 1, 4)), "");  // one environment, four steps a mini-batch
  EXPECT_EQ(complaint(plan(8, 2, 1, 2, 4, 8)), "");   // 2 shards of 4 environments, 8 samples each, 1 a mini-batch
  EXPECT_EQ(complaint(plan(3, 5, 0, 1, 3, 5)), "");
}

TEST(BatchPlan, NamesTheNearestNumbersOfEnvironments) {
  EXPECT_EQ(
      complaint(plan(10, 3, 0, 1, 1, 4)),
      "--num_envs 10 with --num_steps_per_env 3 does not divide into 4 equal mini-batches (ppo.num_mini_batches): "
      "use --num_envs 8 or 12");
  EXPECT_EQ(complaint(plan(3, 3, 0, 1, 1, 4)),
            "--num_envs 3 with --num_steps_per_env 3 does not divide into 4 equal mini-batches (ppo.num_mini_batches): "
            "use --num_envs 4");
  // Steps 6 and 4 mini-batches need an even number of environments in each of 4 shards.
  EXPECT_EQ(complaint(plan(20, 6, 0, 1, 4, 4)),
            "--num_envs 20 with --num_steps_per_env 6 does not divide into 4 equal mini-batches in each of 4 shards "
            "(ppo.num_mini_batches): use --num_envs 16 or 24");
}

TEST(BatchPlan, WholeShardsBelongToARank) {
  EXPECT_EQ(complaint(plan(8, 4, 0, 4, 6, 1)),
            "--shards 6 does not divide over 4 ranks (each rank owns whole shards): use a multiple of 4");
}

TEST(BatchPlan, IndicesFitIn32Bits) {
  EXPECT_EQ(complaint(plan(1 << 24, 1 << 8, 0, 1, 1, 1)),
            "--num_envs x --num_steps_per_env makes 2^31 samples a rank or more: use fewer environments or more ranks");
}

// Mini-batch m of an epoch of iteration 7, with seed 3.
std::vector<int32_t> mini_batch(const BatchPlan& p, int epoch, int m) {
  return in_every_way([&](const Loops& loops) {
    UpdateNumbers numbers{};
    numbers.iteration = 7, numbers.round = epoch * p.num_mini_batches + m;
    std::vector<int32_t> rows(static_cast<size_t>(p.rows()));
    loops(p.rows(), MiniBatchRows{{p, 3}, &numbers, rows.data()});
    return rows;
  });
}

// Slice m of each shard's permutation, of (step, environment) in the shard. Packs of all sizes straddle shards of 10
// and of 20 rows; the last plan has 10^9 samples.
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

// (step, global environment) of every row of mini-batch m, over all ranks of a world.
using Samples = std::multiset<std::pair<int64_t, int64_t>>;

Samples samples_of(int64_t total_envs, int64_t steps, int world, int shards, int mini_batches, int epoch, int m) {
  Samples samples;
  for (int rank = 0; rank < world; ++rank) {
    const BatchPlan p = plan(total_envs / world, steps, rank, world, shards, mini_batches);
    for (int32_t row : mini_batch(p, epoch, m))
      samples.insert({row / p.num_envs, rank * p.num_envs + row % p.num_envs});
  }
  return samples;
}

TEST(MiniBatchRows, EveryEpochSeesEverySampleOnce) {
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

TEST(MiniBatchRows, TakeTheSameNumberFromEachShard) {
  const Samples samples = samples_of(16, 10, 1, 4, 4, 0, 1);
  std::vector<int> of_shard(4);
  for (const auto& [step, env] : samples) of_shard[env / 4] += 1;
  EXPECT_EQ(of_shard, (std::vector<int>{10, 10, 10, 10}));
}

TEST(MiniBatchRows, EpochsDiffer) { EXPECT_NE(samples_of(16, 10, 1, 4, 4, 0, 0), samples_of(16, 10, 1, 4, 4, 1, 0)); }

// What each mini-batch is normalised by is summed over the very rows that it then has.
TEST(MiniBatchMoments, AreThoseOfEachMiniBatch) {
  const BatchPlan p = plan(16, 10, 1, 2, 4, 4);  // shards of 20 rows a mini-batch
  Random random(1);
  const std::vector<float> advantage = uniforms(random, p.num_envs * p.num_steps, -1, 3);
  const UpdateInputs inputs{7, 0};
  const std::vector<double> sums = in_every_way([&](const Loops& loops) {
    std::vector<double> lanes(16 * kSumLanes), out(16);
    loops(p.rows(), HostSumRows<MiniBatchMoments>{{{p, 3}, &inputs, 8, advantage.data()}, lanes.data()});
    for (int64_t c = 0; c < 16; ++c) LastSums<StoreTo>{{out.data()}, lanes.data(), kSumLanes, 1, kSumLanes}(c);
    return out;
  });
  for (int round = 0; round < 8; ++round) {
    double sum = 0, squares = 0;
    for (int32_t row : mini_batch(p, round / 4, round % 4))
      sum += double{advantage[row]}, squares += double{advantage[row]} * advantage[row];
    EXPECT_NEAR(sums[2 * round], sum, 1e-12 * 40) << round;
    EXPECT_NEAR(sums[2 * round + 1], squares, 1e-12 * 200) << round;
  }
}

}  // namespace
}  // namespace drl
