// What the doctor adds up and times, be it by MPI or by NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "doctor/findings.hpp"

namespace drl {

// Bytes: a number, the gradient of a small network, and data large enough for the bandwidth alone.
inline constexpr int64_t kSmall = 4, kGradient = 37000, kMedium = 4 << 20, kLarge = 64 << 20;

// What this rank gives, and whether every element is the sum over all ranks. Exact for up to 10^6 ranks.
std::vector<float> summands(int rank, int64_t bytes);
bool is_right(const std::vector<float>& sum, int ranks);

// Does all-reduces of `bytes`, `times` of them, and returns how many seconds they took on this rank.
using RepeatAllReduce = std::function<double(int64_t bytes, int times)>;

// Times of the ranks of `comm`, the same on all of them. The largest is left out where it would take too long.
AllReduceTimes measure(Communicator& comm, const RepeatAllReduce& repeat);

nlohmann::ordered_json json_of(const AllReduceTimes& times);

// Of the hosts' times, those of the host with the slowest largest all-reduce. `texts` are the ranks' own, json_of's or
// an empty array.
AllReduceTimes slowest(const std::vector<std::string>& texts, const std::vector<std::string>& hosts);

}  // namespace drl
