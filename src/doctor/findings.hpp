// From what the ranks measured to what the doctor says of it. Pure functions; rank 0 calls them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/check.hpp"
#include "doctor/rank_facts.hpp"

namespace drl {

// Who heard from whom: heard[r] are the peers that rank r has heard from, missing where r itself did not answer rank 0.
// `peers[r]` are those that it waited for. `hosts[r]` is empty for ranks that did not answer.
struct Hearings {
  std::vector<std::vector<int>> peers;
  std::map<int, std::vector<int>> heard;
  std::vector<std::string> hosts;
  std::vector<int> local_sizes;  // ranks on that rank's host, 0 where it did not answer
};
Check exchange_finding(const Hearings& hearings, double seconds);

// The hosts of ranks that did not answer, as far as the others' numbers of neighbours tell: " on node2", or "".
std::string host_of_silent(const std::vector<std::string>& hosts, const std::vector<int>& local_sizes);

// "no answer from rank 3 on node1 within 60 s".
Check silence(const std::string& check, const std::vector<int>& ranks, const std::vector<std::string>& hosts,
              double seconds);

// MPI_Init did not return. `arrived` are the ranks that are known to be in it.
Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived, double seconds);

// Seconds by which each host's clock is ahead of rank 0's; the first is rank 0's own.
struct ClockOffset {
  std::string host;
  double seconds;
};
Check clock_finding(const std::vector<ClockOffset>& offsets);

Check build_finding(const std::vector<std::string>& builds, const std::vector<std::string>& hosts);
Check cpu_finding(const std::vector<RankFacts>& ranks);
Check gpu_finding(const std::vector<RankFacts>& ranks);
Check library_finding(const std::vector<RankFacts>& ranks);  // BLAS and MPI

// "A (ranks 0-3 on node1), B (ranks 4-7 on node2)", each value once.
std::string by_value(const std::vector<std::string>& values, const std::vector<std::string>& hosts);

// The same piece of arithmetic on each rank, in seconds; on its GPU.
Check speed_finding(const std::vector<double>& seconds, const std::vector<std::string>& hosts);
Check gpu_speed_finding(const std::vector<double>& seconds, const std::vector<std::string>& hosts);

// One all-reduce of `bytes` takes `seconds`.
struct AllReduceTime {
  int64_t bytes;
  double seconds;
};
// By what each rank moves: 2 (n - 1) / n times the data (nccl-tests, PERFORMANCE.md). Bytes per second.
double bus_bandwidth(const AllReduceTime& time, int ranks);
struct AllReduceTimes {
  int ranks = 0;
  std::string slowest_host = "";  // where hosts measured each for itself
  std::vector<AllReduceTime> times;
};
// What is slower than any network of its kind is worth a warning.
struct AllReduceLimits {
  double latency, bandwidth;  // s for 4 bytes; bytes/s
  std::string remedy;
};
AllReduceLimits host_limits();
AllReduceLimits gpu_limits(bool within_a_node);
Check all_reduce_finding(const std::string& name, const AllReduceTimes& times,
                         const AllReduceLimits& limits = host_limits());

// What one rank met in rank 0's folder; empty texts are good.
struct FolderVisit {
  std::string read;                     // why the file could not be read, or was another
  std::optional<bool> lock_holds = {};  // is rank 0's lock in the way of another host's? Only hosts' first ranks try
};
// `lock_file`: the file system has no locks, and a file stands in.
Check folder_finding(const std::string& folder, const std::vector<FolderVisit>& visits,
                     const std::vector<std::string>& hosts, double free_bytes, bool lock_file = false);

// nullopt: Slurm did not say; infinite: no limit.
Check time_finding(const std::string& job, std::optional<double> seconds_left);

}  // namespace drl
