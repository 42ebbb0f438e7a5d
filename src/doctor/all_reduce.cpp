#include "doctor/all_reduce.hpp"

#include <algorithm>
#include <span>

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRepeatFor = 0.1;  // s that an all-reduce is repeated
constexpr double kTooLong = 0.01;   // s for kMedium, above which kLarge is left out

float summand(int rank, size_t i) { return static_cast<float>((rank % 3 + 1) * static_cast<int>(i % 5)); }

}  // namespace

std::vector<float> summands(int rank, int64_t bytes) {
  std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
  for (size_t i = 0; i < data.size(); ++i) data[i] = summand(rank, i);
  return data;
}

bool is_right(const std::vector<float>& sum, int ranks) {
  float factor = 0;
  for (int rank = 0; rank < ranks; ++rank) factor += summand(rank, 1);
  for (size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != factor * static_cast<float>(i % 5)) return false;
  return true;
}

AllReduceTimes measure(Communicator& comm, const RepeatAllReduce& repeat) {
  const auto mean_of_one = [&](int64_t bytes, int times) {
    double seconds = repeat(bytes, times);
    comm.all_reduce_sum(std::span(&seconds, 1));
    return seconds / comm.size() / times;
  };
  const auto time = [&](int64_t bytes) {
    mean_of_one(bytes, 1);  // opens connections
    const double once = mean_of_one(bytes, 1);
    return AllReduceTime{bytes, mean_of_one(bytes, static_cast<int>(std::clamp(kRepeatFor / once, 1.0, 1000.0)))};
  };
  AllReduceTimes result;
  result.ranks = comm.size();
  for (int64_t bytes : {kSmall, kGradient, kMedium}) result.times.push_back(time(bytes));
  if (result.times.back().seconds <= kTooLong) result.times.push_back(time(kLarge));
  return result;
}

Json json_of(const AllReduceTimes& times) {
  Json json = Json::array();
  for (const AllReduceTime& time : times.times)
    json.push_back({{"ranks", times.ranks},
                    {"bytes", time.bytes},
                    {"seconds", time.seconds},
                    {"bus_bytes_per_second", bus_bandwidth(time, times.ranks)}});
  return json;
}

AllReduceTimes slowest(const std::vector<std::string>& texts, const std::vector<std::string>& hosts) {
  AllReduceTimes worst;
  double most = 0;
  for (const HostRanks& host : hosts_of(hosts)) {
    const Json json = Json::parse(texts[static_cast<size_t>(host.ranks.front())]);
    if (json.empty()) continue;
    const double seconds = json.back().at("seconds").get<double>() / json.back().at("bytes").get<double>();
    if (seconds <= most) continue;
    most = seconds;
    worst = {
        .ranks = json.front().at("ranks"), .slowest_host = hosts_of(hosts).size() > 1 ? host.name : "", .times = {}};
    for (const Json& time : json) worst.times.push_back({time.at("bytes"), time.at("seconds")});
  }
  return worst;
}

}  // namespace drl
