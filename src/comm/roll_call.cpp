#include "comm/roll_call.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "comm/exchange.hpp"

namespace drl {
namespace {

constexpr size_t kMostHosts = 6, kMostValues = 6;  // listed in a text

// Returns "0-3, 6" for 0, 1, 2, 3, 6.
std::string numbers_text(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    parts.push_back(std::to_string(numbers[i]));
    if (end - i > 1) parts.back() += (end - i == 2 ? ", " : "-") + std::to_string(numbers[end - 1]);
  }
  return join(parts, ", ");
}

}  // namespace

RollCall::RollCall(const std::string& name, const Communicator& comm) : name_(name + '\n'), rank_(comm.rank()) {
  notes_.resize(rank_ == 0 ? static_cast<size_t>(comm.size()) : 0);
  world_ranks_.push_back(comm.world_rank(0));
  for (size_t rank = 1; rank < notes_.size(); ++rank) {
    world_ranks_.push_back(comm.world_rank(static_cast<int>(rank)));
    awaited_[world_ranks_[rank]] = rank;
  }
}

std::optional<std::string> RollCall::without_name(const std::string& message) const {
  return message.starts_with(name_) ? std::optional(message.substr(name_.size())) : std::nullopt;
}

void RollCall::answer(const std::string& note) {
  if (rank_ == 0) {
    notes_[0] = note;
  } else {
    exchange(name_ + note, {world_ranks_[0]}, {}, 0);
  }
}

bool RollCall::complete() {
  std::vector<int> awaited;
  for (const auto& [world_rank, rank] : awaited_) awaited.push_back(world_rank);
  for (const auto& [sender, message] : exchange("", {}, awaited, 0)) {
    const auto note = without_name(message);
    if (!note) continue;
    notes_[awaited_.at(sender)] = note;
    awaited_.erase(sender);
  }
  return notes_.empty() || (notes_[0] && awaited_.empty());
}

std::vector<int> RollCall::missing() const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < notes_.size(); ++rank)
    if (!notes_[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

void RollCall::reply(const std::string& text) const {
  std::vector<int> ranks;
  for (size_t rank = 1; rank < notes_.size(); ++rank)
    if (notes_[rank]) ranks.push_back(world_ranks_[rank]);
  exchange(name_ + text, ranks, {}, 0);
}

std::optional<std::string> RollCall::received_reply() const {
  const auto messages = exchange("", {}, {world_ranks_[0]}, 0);
  return messages.empty() ? std::nullopt : without_name(messages.begin()->second);
}

std::vector<Group> groups_of(const std::vector<std::string>& texts) {
  std::vector<Group> groups;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    auto group = std::ranges::find(groups, texts[rank], &Group::text);
    if (group == groups.end()) group = groups.insert(groups.end(), {texts[rank], {}});
    group->ranks.push_back(static_cast<int>(rank));
  }
  return groups;
}

std::string values_with_ranks(const std::vector<std::string>& texts, const std::vector<std::string>& hosts) {
  std::vector<std::string> parts;
  for (const auto& [text, ranks] : groups_of(texts))
    if (!text.empty()) parts.push_back(fmt::format("{} ({})", text, ranks_text(ranks, hosts)));
  return join(at_most(kMostValues, std::move(parts), "", " more values"), ", ");
}

std::string ranks_text(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  std::vector<std::string> host_of_each;
  for (int rank : ranks) host_of_each.push_back(static_cast<size_t>(rank) < hosts.size() ? hosts[rank] : "");
  std::vector<std::string> parts;
  for (auto [host, on_host] : groups_of(host_of_each)) {
    for (int& place : on_host) place = ranks[place];
    parts.push_back((on_host.size() == 1 ? "rank " : "ranks ") + numbers_text(on_host) +
                    (host.empty() ? "" : " on " + host));
  }
  return join(at_most(kMostHosts, std::move(parts), "ranks on ", " more hosts"), "; ");
}

}  // namespace drl
