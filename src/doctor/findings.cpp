#include "doctor/findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/text.hpp"
#include "cluster/machine.hpp"
#include "cluster/roll_call.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr double kClockLimit = 1;         // s
constexpr size_t kNamedPairs = 3;         // of ranks that do not hear each other
constexpr double kLittleSpace = 1 << 30;  // bytes
constexpr double kLittleTime = 5 * 60;    // s

template <class... Args>
std::string format(const char* form, Args... args) {
  char text[256];
  std::snprintf(text, sizeof(text), form, args...);
  return text;
}

std::string on_hosts(size_t ranks, const std::vector<std::string>& hosts) {
  return counted(static_cast<int64_t>(ranks), "rank") + " on " +
         counted(static_cast<int64_t>(hosts_of(hosts).size()), "node");
}

// Latencies are microseconds.
std::string time_text(double seconds) {
  return seconds < 1e-3 ? format("%.1f us", seconds * 1e6) : human_time(seconds);
}

// "rank 1 of n1 to 3 of n2", of which the second does not hear the first.
std::vector<std::string> pairs_that_do_not_hear(const Hearings& hearings) {
  const auto name = [&](int rank) { return std::to_string(rank) + " of " + hearings.hosts[static_cast<size_t>(rank)]; };
  std::vector<std::string> pairs;
  for (const auto& [rank, heard] : hearings.heard)
    for (int peer : hearings.peers[static_cast<size_t>(rank)])
      if (std::ranges::find(heard, peer) == heard.end()) pairs.push_back("rank " + name(peer) + " to " + name(rank));
  return pairs;
}

bool all_equal(const std::vector<std::string>& values) { return hosts_of(values).size() <= 1; }

std::vector<std::string> column(const std::vector<RankFacts>& ranks, std::string RankFacts::*value) {
  std::vector<std::string> values;
  for (const RankFacts& rank : ranks) values.push_back(rank.*value);
  return values;
}

Check models_finding(const std::string& check, const std::vector<RankFacts>& ranks, std::string RankFacts::*model) {
  const std::vector<std::string> models = column(ranks, model);
  if (all_equal(models)) return {check, Status::ok, models.front()};
  return {check, Status::warning, "they differ: " + by_value(models, column(ranks, &RankFacts::host)),
          "the slowest sets the pace, and runs repeat to the bit only on equal nodes: ask for one kind (srun "
          "--constraint=...)"};
}

// The time of a node or a GPU for the same piece of work.
struct Timed {
  std::string name;
  double seconds;
};

// Those that take more than `limit` times the median, of two the faster one.
Check outlier_finding(const std::string& check, const std::string& kind, double limit, const std::vector<Timed>& all,
                      const std::string& remedy) {
  std::vector<double> times;
  for (const Timed& one : all) times.push_back(one.seconds);
  std::ranges::sort(times);
  const double median = times[(times.size() - 1) / 2];
  std::vector<std::string> slow;
  for (const Timed& one : all)
    if (one.seconds > limit * median) slow.push_back(one.name + format(" %.2f", one.seconds / median));
  if (!slow.empty())
    return {check, Status::warning, join(slow, ", ") + " times slower than the median " + kind + " in plain arithmetic",
            remedy};
  return {check, Status::ok,
          all.size() == 1 ? "1 " + kind
                          : format("%.2f to %.2f of the median time", times.front() / median, times.back() / median)};
}

}  // namespace

std::string by_value(const std::vector<std::string>& values, const std::vector<std::string>& hosts) {
  std::vector<std::string> parts;
  for (const HostRanks& same : hosts_of(values))
    parts.push_back(same.name + " (" + ranks_text(same.ranks, hosts) + ")");
  return join(parts, ", ");
}

std::string host_of_silent(const std::vector<std::string>& hosts, const std::vector<int>& local_sizes) {
  std::vector<std::string> incomplete;
  for (const HostRanks& host : hosts_of(hosts))
    if (!host.name.empty() && std::ssize(host.ranks) < local_sizes[static_cast<size_t>(host.ranks.front())])
      incomplete.push_back(host.name);
  return incomplete.empty() ? "" : " on " + join(incomplete, " or ");
}

Check silence(const std::string& check, const std::vector<int>& ranks, const std::vector<std::string>& hosts,
              double seconds) {
  return {check, Status::failed,
          "no answer from " + ranks_text(ranks, hosts) + " within " + human_number(seconds) + " s",
          "look at these processes (ps, top): stopped, swapping, or waiting for a file system? Without "
          "that node: srun --exclude=NODE"};
}

Check start_finding(const LaunchInfo& launch, const std::string& host, const std::vector<int>& arrived,
                    double seconds) {
  Check check{"MPI start", Status::failed,
              "rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.world_size) + " (" + host +
                  ") has been in MPI_Init for " + human_number(seconds) + " s",
              ""};
  std::vector<int> missing;
  for (int rank = 0; rank < launch.world_size; ++rank)
    if (std::ranges::find(arrived, rank) == arrived.end()) missing.push_back(rank);
  if (missing.empty() || arrived.empty()) {
    check.remedy =
        "all ranks have started, but do not find each other: compare MPI and launcher on all nodes "
        "(srun --mpi=list), and try one node alone";
    if (arrived.empty())
      check.remedy = "see by \"ps\" on each node which ranks have not started the program, and try one node alone";
    return check;
  }
  check.finding += "; " + ranks_text(missing, {}) + " never arrived";
  check.remedy = "look for " + ranks_text(missing, {}) +
                 " (srun -l shows its messages; is the program on that node, does its file system answer?); without "
                 "that node: srun --exclude=NODE";
  return check;
}

Check exchange_finding(const Hearings& hearings, double seconds) {
  const std::string in_time = " within " + human_number(seconds) + " s";
  const int ranks = static_cast<int>(hearings.peers.size());
  std::vector<int> silent;
  for (int rank = 0; rank < ranks; ++rank)
    if (!hearings.heard.contains(rank)) silent.push_back(rank);
  if (!silent.empty())
    return {"MPI exchange", Status::failed,
            "no answer from " + ranks_text(silent, {}) + host_of_silent(hearings.hosts, hearings.local_sizes) + in_time,
            "look at that node (is the process stopped, does the network reach it?); without it: srun --exclude=NODE"};

  const std::vector<std::string> pairs = pairs_that_do_not_hear(hearings);
  if (!pairs.empty()) {
    const size_t named = std::min(pairs.size(), kNamedPairs);
    const std::string more = pairs.size() > named ? " and " + std::to_string(pairs.size() - named) + " more" : "";
    return {"MPI exchange", Status::failed,
            "no messages" + in_time + " from " +
                join({pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(named)}, ", ") + more,
            "the nodes do not reach each other by the network that MPI took: open the firewall between them, or name "
            "another network: " +
                network_variables()};
  }
  return {"MPI exchange", Status::ok,
          ranks == 1 ? "1 rank, no other to talk to"
                     : on_hosts(hearings.peers.size(), hearings.hosts) + ", and all answer"};
}

Check clock_finding(const std::vector<ClockOffset>& offsets) {
  const auto size = [](const ClockOffset& offset) { return std::abs(offset.seconds); };
  const ClockOffset& worst = *std::ranges::max_element(offsets, {}, size);
  if (size(worst) <= kClockLimit)
    return {"clocks", Status::ok,
            offsets.size() == 1 ? "1 node"
                                : "all within " + format("%.2g", 1e3 * std::max(size(worst), 1e-5)) + " ms of " +
                                      offsets.front().host + "'s"};
  return {"clocks", Status::warning,
          worst.host + "'s is " + human_number(size(worst)) + " s " + (worst.seconds > 0 ? "ahead of " : "behind ") +
              offsets.front().host + "'s",
          "times in logs and of files will mislead: have chrony or ntpd looked at there"};
}

Check build_finding(const std::vector<std::string>& builds, const std::vector<std::string>& hosts) {
  if (all_equal(builds)) return {"drl build", Status::ok, "drl " + builds.front()};
  return {"drl build", Status::failed, "ranks run different builds: " + by_value(builds, hosts),
          "let all nodes load the same module and find the same installation (PATH), on a shared file system"};
}

Check cpu_finding(const std::vector<RankFacts>& ranks) {
  return models_finding("CPU models", ranks, &RankFacts::cpu_model);
}

Check gpu_finding(const std::vector<RankFacts>& ranks) { return models_finding("GPU models", ranks, &RankFacts::gpu); }

Check library_finding(const std::vector<RankFacts>& ranks) {
  const std::vector<std::string> hosts = column(ranks, &RankFacts::host);
  std::vector<std::string> libraries;
  std::vector<int> reference;
  for (const RankFacts& rank : ranks) {
    libraries.push_back(rank.blas + ", " + rank.mpi);
    if (rank.reference_blas) reference.push_back(rank.rank);
  }
  if (!all_equal(libraries))
    return {"libraries", Status::warning, "they differ: " + by_value(libraries, hosts),
            "the slowest sets the pace, and MPI versions may not understand each other: load the same modules on all "
            "nodes"};
  if (!reference.empty())
    return {"libraries", Status::warning, "matrix products run on the reference BLAS, 4 to 5 times slower than others",
            "install OpenBLAS on all nodes (Debian: libopenblas0-pthread)"};
  return {"libraries", Status::ok, libraries.front()};
}

Check speed_finding(const std::vector<double>& seconds, const std::vector<std::string>& hosts) {
  std::vector<Timed> nodes;
  for (const HostRanks& host : hosts_of(hosts)) {
    nodes.push_back({host.name, 0});
    for (int rank : host.ranks)  // of its slowest rank, for which the others wait
      nodes.back().seconds = std::max(nodes.back().seconds, seconds[static_cast<size_t>(rank)]);
  }
  return outlier_finding("node speed", "node", 1.3, nodes,
                         "all ranks wait for the slowest: look there for other processes, heat or a power limit, or "
                         "leave it out (srun --exclude=NODE)");
}

Check gpu_speed_finding(const std::vector<double>& seconds, const std::vector<std::string>& hosts) {
  std::vector<Timed> gpus;
  for (size_t rank = 0; rank < seconds.size(); ++rank)
    gpus.push_back({"that of " + ranks_text({static_cast<int>(rank)}, hosts), seconds[rank]});
  return outlier_finding("GPU speed", "GPU", 1.2, gpus,
                         "all ranks wait for the slowest: look at it by nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,"
                         "PERFORMANCE, or leave its node out (srun --exclude=NODE)");
}

double bus_bandwidth(const AllReduceTime& time, int ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(time.bytes) / time.seconds;
}

AllReduceLimits host_limits() {
  return {0.02, 1e8,
          "slower than gigabit Ethernet: give each rank a core, or MPI another network: " + network_variables()};
}

AllReduceLimits gpu_limits(bool within_a_node) {
  if (within_a_node)
    return {2e-3, 1e9,
            "slower than PCIe: look for the GPUs' links by nvidia-smi topo -m and nvidia-smi nvlink -s, and unset "
            "NCCL_P2P_DISABLE and NCCL_SHM_DISABLE"};
  return {2e-3, 5e8,
          "slower than any network for GPUs: see the check \"NCCL network\"; NCCL_IB_HCA and NCCL_SOCKET_IFNAME name "
          "another, NCCL_DEBUG=INFO tells more"};
}

Check all_reduce_finding(const std::string& name, const AllReduceTimes& times, const AllReduceLimits& limits) {
  std::vector<std::string> parts;
  for (const AllReduceTime& time : times.times) {
    const std::string bytes = human_bytes(static_cast<double>(time.bytes));
    parts.push_back(bytes + " in " + time_text(time.seconds));
  }
  const AllReduceTime &smallest = times.times.front(), &largest = times.times.back();
  const double bandwidth = bus_bandwidth(largest, times.ranks);
  Check check{name, Status::ok,
              counted(times.ranks, "rank") + ", sums right: " + join(parts, ", ") +
                  format(", that is %.2f GB/s", bandwidth / 1e9) +
                  (times.slowest_host.empty() ? "" : " (slowest node: " + times.slowest_host + ")")};
  if (smallest.seconds <= limits.latency && bandwidth >= limits.bandwidth) return check;
  check.status = Status::warning;
  check.remedy = limits.remedy;
  return check;
}

Check folder_finding(const std::string& folder, const std::vector<FolderVisit>& visits,
                     const std::vector<std::string>& hosts, double free_bytes, bool lock_file) {
  const std::string shared = "name a folder of a file system that all nodes have, by --runs_dir or DRL_RUNS_DIR";
  std::vector<int> blind;
  std::vector<std::string> lockless;
  std::string why;
  for (size_t rank = 0; rank < visits.size(); ++rank) {
    if (!visits[rank].read.empty()) blind.push_back(static_cast<int>(rank));
    if (!visits[rank].read.empty() && why.empty()) why = visits[rank].read;
    if (visits[rank].lock_holds == false) lockless.push_back(hosts[rank]);
  }
  if (!blind.empty())
    return {"run directory", Status::failed,
            folder + " is not shared: " + ranks_text(blind, hosts) + " cannot read what " + hosts.front() + " wrote (" +
                why + ")",
            shared};
  if (!lockless.empty())
    return {"run directory", Status::warning,
            folder + ": " + hosts.front() + "'s lock does not hold on " + join(lockless, ", "),
            "two jobs could write one run: mount it with locks (NFS: without nolock; Lustre: flock), or never start a "
            "run twice"};
  const std::string space = human_bytes(free_bytes) + " free";
  if (free_bytes < kLittleSpace)
    return {"run directory", Status::warning, folder + ": only " + space, "make room, or " + shared};
  return {"run directory", Status::ok,
          folder +
              (hosts_of(hosts).size() == 1 ? ": writable, "
               : lock_file                 ? ": all nodes read it, "
                                           : ": all nodes read it, its lock holds, ") +
              (lock_file ? "locked by a file (the file system has no locks), " : "") + space};
}

Check time_finding(const std::string& job, std::optional<double> seconds_left) {
  if (job.empty()) return {"time left", Status::ok, "not in a Slurm job, no limit"};
  if (!seconds_left)
    return {"time left", Status::warning, "the end of job " + job + " is not known (squeue did not tell)",
            "let Slurm warn the run: sbatch --signal=USR1@120"};
  if (std::isinf(*seconds_left)) return {"time left", Status::ok, "job " + job + " has no limit"};
  const std::string left = human_duration(*seconds_left) + " of job " + job;
  if (*seconds_left >= kLittleTime) return {"time left", Status::ok, left};
  return {"time left", Status::warning, "only " + left,
          "drl_train saves and stops a minute before the end: ask for more by -t HOURS:00:00"};
}

}  // namespace drl
