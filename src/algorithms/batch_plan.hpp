// The division of a rollout into mini-batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/permutation.hpp"
#include "base/check.hpp"
#include "drl/lanes/hd.hpp"
#include "drl/lanes/lanes.hpp"

namespace drl {

// The number of environments of each rank is not a multiple of a unit. The message suggests the nearest multiples for
// --num_envs; in_total() suggests them for --num_envs_total.
class EnvCountError : public UsageError {
 public:
  EnvCountError(const std::string& problem, const std::string& why, int64_t num_envs, int64_t unit);
  UsageError in_total(int64_t num_envs_total, int ranks) const;

 private:
  std::string problem_, why_;
  std::vector<int64_t> nearest_;
};

// The environments of all ranks, [0, num_envs * world_size), are divided by global index into `shards` equal shards;
// each rank owns shards / world_size of them. The samples of each shard are permuted, and mini-batch m consists of
// slice m of every shard's permutation. The mini-batches therefore depend on the number of shards, but not on the
// number of ranks. With `sequences`, the environments of each shard are permuted instead of its samples.
struct BatchPlan {
  int64_t num_envs = 0;   // of this rank
  int64_t num_steps = 0;  // of a rollout, per environment
  int rank = 0, world_size = 1;
  int shards = 1;  // on all ranks together
  int num_mini_batches = 1;
  // The units that are permuted are environments, with all their steps, instead of samples. For recurrent networks.
  bool sequences = false;
  // The samples of this rank in a mini-batch from a replay buffer; 0: mini-batches are parts of the rollout.
  int64_t replay_rows = 0;
  int64_t replay_bytes = 0;  // of this rank's part of the replay buffer

  DRL_HD int local_shards() const { return shards / world_size; }
  DRL_HD int64_t envs_per_shard() const { return num_envs / local_shards(); }
  DRL_HD int64_t samples_per_shard() const { return envs_per_shard() * num_steps; }
  DRL_HD int64_t rows_per_shard() const { return samples_per_shard() / num_mini_batches; }  // in one mini-batch
  // Returns the number of samples of all ranks in a mini-batch.
  int64_t samples_per_step() const { return num_steps * num_envs * world_size / num_mini_batches; }
  int64_t observations() const { return (num_steps + 1) * num_envs; }  // of this rank in a rollout
  // Returns the largest number of rows of this rank that pass through a network at once.
  int64_t most_rows() const { return observations() > replay_rows ? observations() : replay_rows; }
  DRL_HD int64_t rows() const { return rows_per_shard() * local_shards(); }  // of this rank in one mini-batch
  // Throws EnvCountError unless the environments divide evenly into shards and mini-batches, and UsageError if the
  // numbers cannot be used otherwise. For the message, `section` is the section of the algorithm's options, and
  // `steps` is the option or property that determines the number of steps.
  void check(std::string_view section, const std::string& steps) const;

  // Converts samples of a shard (step * envs_per_shard() + environment) to indices into the rollout [T * num_envs].
  // `first_env` is the local index of the shard's first environment.
  template <class U>
  DRL_HD auto rollout_rows(U sample, int64_t first_env) const {
    const auto envs = static_cast<uint32_t>(envs_per_shard());
    const U step = quotient(sample, envs), env = sample - step * U(envs);
    return step * U(static_cast<uint32_t>(num_envs)) + env + U(static_cast<uint32_t>(first_env));
  }
};

}  // namespace drl
