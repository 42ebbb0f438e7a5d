#include "run/balance.hpp"

#include <algorithm>
#include <numeric>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr double kLargestShare = 0.3;  // ranks that wait for a larger share of a span get advice
constexpr double kAlike = 0.1;         // ranks whose shares differ by less wait for no single rank

}  // namespace

Balance::Balance(std::vector<std::string> hosts, double seconds)
    : hosts_(std::move(hosts)), span_seconds_(seconds), waiting_(hosts_.size(), 0.0) {}

std::string Balance::iteration(int64_t number, double seconds, std::span<const double> waiting) {
  if (hosts_.size() < 2 || skipped_++ < kSkipped) return "";
  if (iterations_++ == 0) first_ = number;
  seconds_ += seconds;
  for (size_t rank = 0; rank < waiting_.size(); ++rank) waiting_[rank] += waiting[rank];
  if (iterations_ < kIterations || seconds_ < span_seconds_) return "";
  const std::string text = advice();
  begin_span();
  return text;
}

void Balance::begin_span() {
  iterations_ = 0;
  seconds_ = 0;
  std::fill(waiting_.begin(), waiting_.end(), 0.0);
}

// The slowest rank is the one that waits least, because the others wait for it.
std::string Balance::advice() {
  const double ranks = static_cast<double>(waiting_.size());
  const double share = std::accumulate(waiting_.begin(), waiting_.end(), 0.0) / ranks / seconds_;
  if (share <= kLargestShare) return "";
  const auto percent = [this](double waited) { return static_cast<int>(100 * std::min(waited / seconds_, 1.0) + 0.5); };
  const auto [least, most] = std::minmax_element(waiting_.begin(), waiting_.end());
  const bool is_one = *most - *least >= kAlike * seconds_;
  const int slowest = is_one ? static_cast<int>(least - waiting_.begin()) : -1;
  if (!advised_.insert(slowest).second) return "";
  slowest_ = {};
  const std::string begin =
      fmt::format("waiting and communication take {} % of the ranks' time", percent(share * seconds_));
  const std::string advice = "use more environments per rank, fewer mini-batches or fewer nodes";
  if (!is_one)
    return fmt::format("{} (all ranks wait alike, {} to {} % of an iteration, so no rank is slow): {}", begin,
                       percent(*least), percent(*most), advice);
  std::vector<double> sorted = waiting_;
  std::ranges::sort(sorted);
  const double computes = seconds_ - *least, usual = seconds_ - sorted[sorted.size() / 2];
  slowest_ = {slowest, hosts_[static_cast<size_t>(slowest)], first_, computes / std::max(usual, 1e-9)};
  return fmt::format(
      "{} (rank {} on {} is the slowest since iteration {} or earlier: it waits least, {} % of an iteration, and "
      "computes {:.1f} times as long as most others): check what else runs on {}, compare the nodes with drl_doctor, "
      "or {}",
      begin, slowest, slowest_.host, first_, percent(*least), slowest_.times, slowest_.host, advice);
}

}  // namespace drl
