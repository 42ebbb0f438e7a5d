// The doctor's all-reduces, with MPI or NCCL: their data, their timing and their limits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "doctor/rounds.hpp"

namespace drl {

// Sizes in bytes: one number, the gradient of a small network, and two sizes that are dominated by the bandwidth.
inline constexpr int64_t kSmall = 4, kGradient = 37000, kMedium = 4 << 20, kLarge = 64 << 20;

// Return this rank's test data, and whether `sum` holds the exact sum over all ranks. Exact in float for up to 10^6
// ranks.
std::vector<float> test_data(int rank, int64_t bytes);
bool is_correct_sum(std::span<const float> sum, int ranks);

// One all-reduce of `bytes` takes `seconds`.
struct AllReduceTime {
  int64_t bytes = 0;
  double seconds = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTime, bytes, seconds)
struct AllReduceTimes {
  int ranks = 0;
  std::string slowest_host = "";  // set if each node measured on its own
  std::vector<AllReduceTime> times;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTimes, ranks, slowest_host, times)

// Returns the bus bandwidth in bytes per second: each of n ranks moves 2 (n - 1) / n times the data (nccl-tests,
// PERFORMANCE.md).
double bus_bandwidth(const AllReduceTime& time, int ranks);

// Runs `times` all-reduces of `bytes` each and returns the seconds that they took on this rank.
using RepeatAllReduce = std::function<double(int64_t bytes, int times)>;

// Collective over `comm`. Measures all-reduces of up to `largest` bytes and returns their mean times over the ranks,
// equal on all ranks. Skips kLarge if kMedium takes more than 10 ms.
AllReduceTimes measure(Communicator& comm, int64_t largest, const RepeatAllReduce& repeat);

// Limits beyond which the doctor warns.
struct AllReduceLimits {
  double latency, bandwidth;  // seconds for 4 bytes; bus bandwidth in bytes per second
  std::string remedy;
};
AllReduceLimits host_limits();
// Returns a quarter of the speed that healthy GPUs of these models attain within a node or, if `fabric` is given
// (nccl_network.hpp), across nodes. The slowest model or fabric counts.
AllReduceLimits gpu_limits(const std::vector<std::string>& gpus, const std::string& fabric = "");

// Compares times with their limits. Pure.
Check all_reduce_finding(const AllReduceTimes& times, const AllReduceLimits& limits);
// Returns the times of the slowest rank, which is the one whose all-reduces of the most data take longest. `times` and
// `hosts` are indexed by rank; the ranks have measured all together, or each with the ranks of its host. Pure.
AllReduceTimes slowest(const std::vector<AllReduceTimes>& times, const std::vector<std::string>& hosts);

// Collective. Returns a failure with `remedy` if the sums were not `correct` on every rank.
Check judge_sums(MessageRounds& rounds, bool correct, const std::string& remedy);
// Ends a round in which this rank measured `times`: rank 0 judges the slowest ones by its `limits` and adds them to the
// report's JSON as `figures`.
void end_with_times(MessageRounds& rounds, const std::string& figures, const AllReduceTimes& times,
                    const AllReduceLimits& limits);

}  // namespace drl
