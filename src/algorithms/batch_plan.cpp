#include "algorithms/batch_plan.hpp"

#include <limits>
#include <numeric>
#include <string>

#include "base/text.hpp"

namespace drl {
namespace {

std::vector<int64_t> nearest_multiples(int64_t number, int64_t unit) {
  const int64_t below = number / unit * unit;
  if (below == 0) return {unit};
  return {below, below + unit};
}

std::string any_of(const std::vector<int64_t>& numbers, int64_t times = 1) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number * times));
  return join(texts, " or ");
}

}  // namespace

EnvCountError::EnvCountError(const std::string& problem, const std::string& why, int64_t num_envs, int64_t unit)
    : UsageError(problem + " (" + why + "): use --num_envs " + any_of(nearest_multiples(num_envs, unit))),
      problem_(problem),
      why_(why),
      nearest_(nearest_multiples(num_envs, unit)) {}

UsageError EnvCountError::in_total(int64_t num_envs_total, int ranks) const {
  const std::string share = ranks == 1 ? "" : ", of which each of " + std::to_string(ranks) + " ranks has its share";
  return UsageError(problem_ + " (" + why_ + "; --num_envs_total is " + std::to_string(num_envs_total) + share +
                    "): use --num_envs_total " + any_of(nearest_, ranks));
}

void BatchPlan::check(std::string_view section, const std::string& steps) const {
  if (shards % world_size != 0)
    throw UsageError("--shards " + std::to_string(shards) + " cannot be divided evenly among " +
                     std::to_string(world_size) + " ranks (each rank owns whole shards): use a multiple of " +
                     std::to_string(world_size));
  const int64_t unit =
      local_shards() *
      (sequences ? num_mini_batches : num_mini_batches / std::gcd(static_cast<int64_t>(num_mini_batches), num_steps));
  if (num_envs % unit != 0)
    throw EnvCountError("--num_envs " + std::to_string(num_envs) + " with " + steps + " " + std::to_string(num_steps) +
                            " cannot be divided into " + std::to_string(num_mini_batches) + " equal mini-batches" +
                            (local_shards() > 1 ? " in each of " + std::to_string(local_shards()) + " shards" : ""),
                        std::string(section) + ".num_mini_batches" +
                            (sequences ? "; those of recurrent networks consist of whole environments" : ""),
                        num_envs, unit);
  if (num_envs * num_steps > std::numeric_limits<int32_t>::max())
    throw UsageError("--num_envs x " + steps + " is " + std::to_string(num_envs * num_steps) +
                     " samples per rank (the limit is 2^31 - 1): use fewer environments or more ranks");
}

}  // namespace drl
