#include "doctor/all_reduce.hpp"

#include <algorithm>
#include <regex>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/mpi_library.hpp"
#include "comm/roll_call.hpp"
#include "gpu/vendor.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

using fmt::format;

constexpr double kRepeatFor = 0.1;        // s for which each size is repeated
constexpr double kSkipLargeAbove = 0.01;  // s; if kMedium takes longer, kLarge is skipped
constexpr double kWarnBelow = 0.25;       // of the attainable bandwidth; less is a warning

float test_value(int rank, size_t i) { return static_cast<float>((rank % 3 + 1) * static_cast<int>(i % 5)); }

// Like human_time(), but with microseconds.
std::string time_text(double seconds) {
  return seconds < 1e-3 ? format("{:.1f} us", seconds * 1e6) : human_time(seconds);
}

// The speed of the slowest healthy links of a kind.
struct Link {
  const char* pattern;  // regular expression for the name of a GPU or a fabric; the first match counts
  double speed;         // GB/s per direction
  const char* name;
};
// The connection of two GPUs of a board; of all pairs, the one with the fewest NVLinks. Boards with NVSwitch are
// faster.
constexpr Link kGpuLinks[] = {
    // Cards, including those with bridges between pairs only (NVL), and MIG instances have no NVLink to all other GPUs.
    // Measured through host memory, PCIe 3.0 x16: github.com/NVIDIA/nccl/issues/384
    {"PCI| NVL|MIG", 3.9, "PCIe"},
    // 1 link of 25 GB/s in a hybrid cube mesh: nvidia.com/en-us/data-center/nvlink, DGX-1 with Tesla V100
    {"V100-SXM", 25, "NVLink"},
    // 4 links of 25 GB/s between two of four: docs.nersc.gov/systems/perlmutter/architecture
    {"A[18]00-SXM", 100, "NVLink"},
    // 150 GB/s between two of four GH200: apps.fz-juelich.de/jsc/hps/jupiter/configuration.html. Boards with NVSwitch
    // attain 370 GB/s (H100: github.com/NVIDIA/nccl-tests/issues/212), 215 (H800: github.com/NVIDIA/nccl/issues/1374)
    // or 830 (B200: github.com/NVIDIA/nccl/issues/1807); smaller boards may have fewer links
    {"H100|H200|H800|H20|B200|B300", 150, "NVLink"},
    {"", 3.9, "PCIe"},
};
// Networks with one adapter per node.
constexpr Link kNetworks[] = {
    // 24.2 GB/s on 200 Gb/s, Alps: github.com/NVIDIA/nccl/issues/1272
    {"Slingshot", 24.2, "Slingshot"},
    // 100 Gb/s (EDR): infinibandta.org/infiniband-roadmap
    {"InfiniBand", 12.5, "InfiniBand"},
    // 6 to 8 GB/s on 8 to 32 nodes of 100 Gb/s: github.com/NVIDIA/nccl/issues/235
    {"EFA", 6, "EFA"},
    // 25 Gb/s, Alex's A40 nodes: hpc.fau.de/systems-services/systems-documentation-instructions/clusters/alex-cluster
    {"RoCE", 3.1, "RoCE"},
    // 10 Gb/s: aws.amazon.com/ec2/instance-types/p3, p3.8xlarge
    {"", 1.25, "Ethernet"},
};

Link find_link(const std::string& name, std::span<const Link> links) {
  return *std::ranges::find_if(
      links, [&](const char* pattern) { return std::regex_search(name, std::regex(pattern)); }, &Link::pattern);
}

}  // namespace

std::vector<float> test_data(int rank, int64_t bytes) {
  std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
  for (size_t i = 0; i < data.size(); ++i) data[i] = test_value(rank, i);
  return data;
}

bool is_correct_sum(std::span<const float> sum, int ranks) {
  float factor = 0;
  for (int rank = 0; rank < ranks; ++rank) factor += test_value(rank, 1);
  for (size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != factor * static_cast<float>(i % 5)) return false;
  return true;
}

double bus_bandwidth(const AllReduceTime& time, int ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(time.bytes) / time.seconds;
}

AllReduceTimes measure(Communicator& comm, int64_t largest, const RepeatAllReduce& repeat) {
  const auto mean_of_one = [&](int64_t bytes, int times) {
    double seconds = repeat(bytes, times);
    comm.all_reduce_sum(std::span(&seconds, 1));
    return seconds / comm.size() / times;
  };
  AllReduceTimes result{.ranks = comm.size(), .times = {}};
  for (int64_t bytes : {kSmall, kGradient, kMedium, kLarge}) {
    if (bytes > largest || (bytes == kLarge && result.times.back().seconds > kSkipLargeAbove)) break;
    mean_of_one(bytes, 1);  // warm-up: opens connections
    const double once = mean_of_one(bytes, 1);
    result.times.push_back({bytes, mean_of_one(bytes, static_cast<int>(std::clamp(kRepeatFor / once, 1.0, 1000.0)))});
  }
  return result;
}

AllReduceLimits host_limits() {
  return {0.02, 1e8,
          "slower than gigabit Ethernet: give each rank its own core, or choose another network for MPI: " +
              network_variables()};
}

AllReduceLimits gpu_limits(const std::vector<std::string>& gpus, const std::string& fabric) {
  const bool in_node = fabric.empty();
  std::vector<Link> links;
  for (const std::string& gpu : gpus) links.push_back(find_link(gpu, kGpuLinks));
  if (!in_node) links.push_back(find_link(fabric, kNetworks));
  const Link link = *std::ranges::min_element(links, {}, &Link::speed);
  return {2e-3, kWarnBelow * link.speed * 1e9,
          format("less than a quarter of the {} GB/s that slow {} attains: {}", link.speed, link.name,
                 in_node ? format("check the GPUs' links with {}, and unset NCCL_P2P_DISABLE and NCCL_SHM_DISABLE",
                                  kGpuVendor.show_links)
                         : "see the check \"NCCL network\"; select another network with NCCL_IB_HCA or "
                           "NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO prints details")};
}

Check all_reduce_finding(const AllReduceTimes& times, const AllReduceLimits& limits) {
  std::vector<std::string> parts;
  for (const auto& [bytes, seconds] : times.times)
    parts.push_back(human_bytes(static_cast<double>(bytes)) + " in " + time_text(seconds));
  const double bandwidth = bus_bandwidth(times.times.back(), times.ranks);
  const bool slow = times.times.front().seconds > limits.latency || bandwidth < limits.bandwidth;
  return {slow ? Status::warning : Status::ok,
          format("{}, correct sums: {}, bus bandwidth {:.2f} GB/s{}", counted(times.ranks, "rank"), join(parts, ", "),
                 bandwidth / 1e9, times.slowest_host.empty() ? "" : " (slowest node: " + times.slowest_host + ")"),
          slow ? limits.remedy : ""};
}

AllReduceTimes slowest(const std::vector<AllReduceTimes>& times, const std::vector<std::string>& hosts) {
  const auto seconds_a_byte = [](const AllReduceTimes& one) {
    return one.ranks < 2 ? 0 : one.times.back().seconds / static_cast<double>(one.times.back().bytes);
  };
  const auto worst = std::ranges::max_element(times, {}, seconds_a_byte);
  AllReduceTimes result = *worst;
  if (groups_of(hosts).size() > 1 && result.ranks < std::ssize(hosts))
    result.slowest_host = hosts[worst - times.begin()];
  return result;
}

Check judge_sums(MessageRounds& rounds, bool correct, const std::string& remedy) {
  return rounds.decide(correct ? "" : "wrong", [&](const std::vector<std::string>& all) {
    for (const auto& [wrong, ranks] : groups_of(all))
      if (!wrong.empty())
        return Check{Status::failed, "sums are wrong on " + ranks_text(ranks, rounds.hosts()), remedy};
    return Check{};
  });
}

void end_with_times(MessageRounds& rounds, const std::string& figures, const AllReduceTimes& times,
                    const AllReduceLimits& limits) {
  const std::vector<AllReduceTimes> all = rounds.gather(times);
  if (!rounds.is_rank_zero()) return rounds.end({});
  const AllReduceTimes worst = slowest(all, rounds.hosts());
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const AllReduceTime& time : worst.times)
    json.push_back({{"ranks", worst.ranks},
                    {"bytes", time.bytes},
                    {"seconds", time.seconds},
                    {"bus_bytes_per_second", bus_bandwidth(time, worst.ranks)}});
  rounds.report().add_figures(figures, json);
  rounds.end(all_reduce_finding(worst, limits));
}

}  // namespace drl
