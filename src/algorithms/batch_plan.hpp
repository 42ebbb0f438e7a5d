// How a rollout is cut into mini-batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "algorithms/permutation.hpp"
#include "drl/hd.hpp"
#include "drl/lanes.hpp"

namespace drl {

// Environments [0, num_envs * world_size) lie in `shards` equal shards by global index; this rank owns
// shards / world_size of them. Mini-batch m is the union over all shards of slice m of each shard's permutation.
struct BatchPlan {
  int64_t num_envs = 0;   // of this rank
  int64_t num_steps = 0;  // of a rollout
  int rank = 0, world_size = 1;
  int shards = 1;  // over all ranks
  int num_mini_batches = 1;

  DRL_HD int local_shards() const { return shards / world_size; }
  DRL_HD int64_t envs_per_shard() const { return num_envs / local_shards(); }
  DRL_HD int64_t samples_per_shard() const { return envs_per_shard() * num_steps; }
  DRL_HD int64_t rows_per_shard() const { return samples_per_shard() / num_mini_batches; }  // of one mini-batch
  int64_t rows() const { return rows_per_shard() * local_shards(); }                        // of this rank in it
  // Throws UsageError unless everything divides, naming the nearest numbers of environments that do. `section` is that
  // of the algorithm's options, `steps` what decides the number of steps.
  void check(std::string_view section, const std::string& steps) const;

  // Samples of a shard (step * its environments + environment) as indices into the rollout [T * num_envs], in which its
  // environments begin at `first_env`.
  template <class U>
  DRL_HD auto rollout_rows(U sample, int64_t first_env) const {
    const auto envs = static_cast<uint32_t>(envs_per_shard());
    const U step = quotient(sample, envs), env = sample - step * U(envs);
    return step * U(static_cast<uint32_t>(num_envs)) + env + U(static_cast<uint32_t>(first_env));
  }
};

}  // namespace drl
