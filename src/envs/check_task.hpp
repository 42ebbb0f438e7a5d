// Whether a task keeps its contract (drl/task.hpp), and how it behaves under random actions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/queue.hpp"

namespace drl {

struct CheckPlan {
  int64_t num_envs = 67;  // full vectors, a partial one, and single environments
  int64_t steps = 1000;
  double seconds = 0.5;  // for each measurement of speed; 0: none
  uint64_t seed = 0;
  std::function<std::unique_ptr<Queue>()> gpu_queue = nullptr;  // of a GPU that is compared too
};

// Of a number over all environments and steps.
struct Seen {
  std::string name;
  double low = 0, high = 0, mean = 0;
};
struct Speed {
  Isa isa{};
  double steps_per_second = 0;
  double share_of_ends = 0;  // of the time, in which new episodes are begun
};

// Of a step in float, the largest difference from the same step in double, relative to 1 + |x|.
struct Difference {
  std::string what;  // state, observations or reward
  double largest = 0;
  std::string where;  // "" if there is none
  double beyond = 0;  // share of the environments' steps in which it is above kLargeDifference
};
inline constexpr double kLargeDifference = 1e-3;

struct TaskFindings {
  std::vector<std::string> faults;          // of the contract; each a sentence
  std::vector<std::string> hints;           // what is worth a look
  std::vector<Seen> observations, rewards;  // rewards: in all, then its terms
  double episodes = 0, terminated = 0, shortest = 0, longest = 0, mean_length = 0;
  std::vector<std::string> same;        // where its trajectories were compared, to the bit
  std::vector<Difference> from_double;  // empty of a simulator, which has one kind of numbers
  std::vector<Speed> speeds;
  uint64_t hash = 0;  // of all that was seen: equal where another compiler's library gives the same bits
};

// Steps environments of the task with random actions: on all instruction sets of this machine, one by one, in two
// batches, twice, on a GPU if there is a queue of one, and in double. `params`: EnvConfig's.
TaskFindings check_task(std::string_view task, const std::vector<std::byte>& params, const CheckPlan& plan);

}  // namespace drl
