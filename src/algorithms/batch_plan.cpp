#include "algorithms/batch_plan.hpp"

#include <limits>
#include <numeric>
#include <string>

#include "base/check.hpp"

namespace drl {

void BatchPlan::check(std::string_view section, const std::string& steps) const {
  if (shards % world_size != 0)
    throw UsageError("--shards " + std::to_string(shards) + " cannot be divided evenly among " +
                     std::to_string(world_size) + " ranks (each rank owns whole shards): use a multiple of " +
                     std::to_string(world_size));
  const int64_t unit =
      local_shards() *
      (sequences ? num_mini_batches : num_mini_batches / std::gcd(static_cast<int64_t>(num_mini_batches), num_steps));
  if (num_envs % unit != 0) {
    const int64_t below = num_envs / unit * unit, above = below + unit;
    const std::string nearest =
        below > 0 ? std::to_string(below) + " or " + std::to_string(above) : std::to_string(above);
    throw UsageError("--num_envs " + std::to_string(num_envs) + " with " + steps + " " + std::to_string(num_steps) +
                     " cannot be divided into " + std::to_string(num_mini_batches) + " equal mini-batches" +
                     (local_shards() > 1 ? " in each of " + std::to_string(local_shards()) + " shards" : "") + " (" +
                     std::string(section) + ".num_mini_batches" +
                     (sequences ? "; those of recurrent networks consist of whole environments" : "") +
                     "): use --num_envs " + nearest);
  }
  if (num_envs * num_steps > std::numeric_limits<int32_t>::max())
    throw UsageError("--num_envs x " + steps + " is " + std::to_string(num_envs * num_steps) +
                     " samples per rank (the limit is 2^31 - 1): use fewer environments or more ranks");
}

}  // namespace drl
