// All-reduces, be it by MPI or by NCCL: what the doctor adds up, how long that takes, and what is too slow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "doctor/rounds.hpp"

namespace drl {

// Bytes: a number, the gradient of a small network, and data large enough for the bandwidth alone.
inline constexpr int64_t kSmall = 4, kGradient = 37000, kMedium = 4 << 20, kLarge = 64 << 20;

// What this rank gives, and whether every element is the sum over all ranks. Exact for up to 10^6 ranks.
std::vector<float> summands(int rank, int64_t bytes);
bool is_right(std::span<const float> sum, int ranks);

// One all-reduce of `bytes` takes `seconds`.
struct AllReduceTime {
  int64_t bytes = 0;
  double seconds = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTime, bytes, seconds)
struct AllReduceTimes {
  int ranks = 0;
  std::string slowest_host = "";  // where nodes measured each for itself
  std::vector<AllReduceTime> times;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTimes, ranks, slowest_host, times)

// By what each rank moves: 2 (n - 1) / n times the data (nccl-tests, PERFORMANCE.md). Bytes per second.
double bus_bandwidth(const AllReduceTime& time, int ranks);

// Does all-reduces of `bytes`, `times` of them, and returns how many seconds they took on this rank.
using RepeatAllReduce = std::function<double(int64_t bytes, int times)>;

// Times of the ranks of `comm`, the same on all of them, for data of up to `largest` bytes. kLarge is left out where it
// would take too long.
AllReduceTimes measure(Communicator& comm, int64_t largest, const RepeatAllReduce& repeat);

// What is slower is worth a warning.
struct AllReduceLimits {
  double latency, bandwidth;  // s for 4 bytes; bytes/s
  std::string remedy;
};
AllReduceLimits host_limits();
// A quarter of what healthy nodes attain: of ranks on these models of GPUs within each node, or across nodes by
// `fabric` (nccl_network.hpp). Of several models the slowest counts.
AllReduceLimits gpu_limits(const std::vector<std::string>& gpus, const std::string& fabric = "");

// Pure. The second is of ranks that have measured with all others, or each with those of its host: of these the slowest
// all-reduce of the largest data counts.
Check all_reduce_finding(const AllReduceTimes& times, const AllReduceLimits& limits);
AllReduceTimes slowest(const std::vector<AllReduceTimes>& times, const std::vector<std::string>& hosts);

// Whether sums were right on all ranks; if not, `remedy`.
Check agree_on_sums(Rounds& rounds, bool right, const std::string& remedy);
// Ends a round in which this rank measured `times`, which become the report's `figures`. `limits` are rank 0's.
void end_with_times(Rounds& rounds, const std::string& figures, const AllReduceTimes& times,
                    const AllReduceLimits& limits);

}  // namespace drl
