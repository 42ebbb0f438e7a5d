// Checks whether a task fulfils its contract (drl/task.hpp), and measures its behaviour under random actions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/queue.hpp"
#include "envs/env_setup.hpp"

namespace drl {

struct CheckPlan {
  int64_t num_envs = 67;  // covers full packs, a partial one, and single environments
  int64_t steps = 1000;
  double seconds = 0.5;  // per measurement of speed; 0: none
  uint64_t seed = 0;
  std::function<std::unique_ptr<Queue>()> gpu_queue = nullptr;  // makes the queue of a GPU to compare; may be null
};

// The range of a number over all environments and steps.
struct ValueRange {
  std::string name;
  double low = 0, high = 0, mean = 0;
};
struct Speed {
  Isa isa{};
  double steps_per_second = 0;
  double reset_share = 0;  // share of the time that resets take
};

// The largest difference between a step in float and the same step in double, relative to 1 + |x|.
struct Difference {
  std::string what;  // state, observations or reward
  double largest = 0;
  std::string where;  // "" if there is no difference
  double beyond = 0;  // share of the steps with a difference above kLargeDifference
};
inline constexpr double kLargeDifference = 1e-3;

struct TaskFindings {
  std::vector<std::string> faults;                // violations of the contract; each is a sentence
  std::vector<std::string> hints;                 // remarks that the author should check
  std::vector<ValueRange> observations, rewards;  // rewards: the sum, then its terms
  double episodes = 0, terminated = 0, shortest = 0, longest = 0, mean_length = 0;
  std::vector<std::string> identical;   // the comparisons in which trajectories were bit-identical
  std::vector<Difference> from_double;  // empty for a simulator, which has only one number type
  std::vector<Speed> speeds;
  uint64_t hash = 0;  // of all observations, rewards and ends; compares libraries of different compilers
};

// Steps environments of the task with random actions: on all instruction sets of this machine, twice, in two batches,
// one by one, on a GPU if the plan has one, and in double. `setup` must not be empty.
TaskFindings check_task(std::string_view task, const EnvSetup& setup, const CheckPlan& plan);

}  // namespace drl
