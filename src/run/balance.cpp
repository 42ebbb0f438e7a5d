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

std::string Balance::iteration(double seconds, std::span<const double> waiting) {
  if (has_advised_ || hosts_.size() < 2 || skipped_++ < kSkipped) return "";
  iterations_ += 1;
  seconds_ += seconds;
  for (size_t rank = 0; rank < waiting_.size(); ++rank) waiting_[rank] += waiting[rank];
  if (iterations_ < kIterations || seconds_ < span_seconds_) return "";
  const std::string text = advice();
  has_advised_ = !text.empty();
  begin_span();
  return text;
}

void Balance::begin_span() {
  iterations_ = 0;
  seconds_ = 0;
  std::fill(waiting_.begin(), waiting_.end(), 0.0);
}

// The slowest rank is the one that waits least, because the others wait for it.
std::string Balance::advice() const {
  const double ranks = static_cast<double>(waiting_.size());
  const double share = std::accumulate(waiting_.begin(), waiting_.end(), 0.0) / ranks / seconds_;
  if (share <= kLargestShare) return "";
  const auto percent = [this](double waited) { return static_cast<int>(100 * std::min(waited / seconds_, 1.0) + 0.5); };
  const auto least = std::min_element(waiting_.begin(), waiting_.end());
  const auto most = std::max_element(waiting_.begin(), waiting_.end());
  const size_t slowest = static_cast<size_t>(least - waiting_.begin()),
               idlest = static_cast<size_t>(most - waiting_.begin());
  const std::string begin =
      fmt::format("waiting and communication take {} % of the ranks' time", percent(share * seconds_));
  const std::string advice = "use more environments per rank, fewer mini-batches or fewer nodes";
  if (*most - *least < kAlike * seconds_)
    return fmt::format("{} (all ranks wait alike, {} to {} % of an iteration, so no rank is slow): {}", begin,
                       percent(*least), percent(*most), advice);
  return fmt::format(
      "{} (rank {} on {} is the slowest: it waits least, {} % of an iteration, and rank {} on {} waits most, {} %): "
      "{}, "
      "and check what else runs on {}",
      begin, slowest, hosts_[slowest], percent(*least), idlest, hosts_[idlest], percent(*most), advice,
      hosts_[slowest]);
}

}  // namespace drl
