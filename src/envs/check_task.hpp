// Whether a task keeps its contract (drl/task.hpp), and how it behaves under random actions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/isa.hpp"

namespace drl {

struct CheckPlan {
  int64_t num_envs = 67;  // full vectors, a partial one, and single environments
  int64_t steps = 1000;
  double seconds = 0.5;  // for each measurement of speed; 0: none
  uint64_t seed = 0;
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

struct TaskFindings {
  std::vector<std::string> faults;          // of the contract; each a sentence
  std::vector<std::string> hints;           // what is worth a look
  std::vector<Seen> observations, rewards;  // rewards: in all, then its terms
  double episodes = 0, terminated = 0, shortest = 0, longest = 0, mean_length = 0;
  std::vector<Speed> speeds;
  uint64_t hash = 0;  // of all that was seen: equal where another compiler's library gives the same bits
};

// Steps environments of the task with random actions: on all instruction sets of this machine, one by one, in two
// batches, and twice. `params`: EnvConfig's.
TaskFindings check_task(std::string_view task, const std::vector<std::byte>& params, const CheckPlan& plan);

}  // namespace drl
