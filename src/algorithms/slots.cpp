#include "algorithms/slots.hpp"

#include <algorithm>

#include "algorithms/algorithm_kernels.hpp"
#include "base/check.hpp"

namespace drl {

Slots::Place Slots::add(size_t size) {
  DRL_CHECK(!has_begun(), "places must be added before the first iteration");
  const Place place{count_, size};
  count_ += size;
  return place;
}

void Slots::begin(std::span<const double> loop_sums, const Communicator& comm,
                  const std::function<void(StateVisitor&)>& visit_state) {
  if (!has_begun()) {
    first_ = loop_sums.size(), ranks_ = static_cast<size_t>(comm.size());
    fingerprints_ = std::make_unique<Fingerprints>(queue_, list_state(visit_state));
    sums_ = Array<double>(queue_, first_ + count_ + 2 * ranks_);
    host_sums_ = Array<double>(queue_, sums_.size(), Memory::host);
  }
  std::ranges::copy(loop_sums, host_sums_.data());
  std::fill(host_sums_.begin() + loop_sums.size(), host_sums_.end(), 0.0);
}

void Slots::enqueue_begin() { queue_.copy(sums_.data(), host_sums_.data(), host_sums_.size()); }

void Slots::enqueue_all_reduce(Communicator& comm) {
  double *own = sums_.data() + first_, *fingerprints = own + count_, *not_finite = fingerprints + ranks_;
  fingerprints_->enqueue(fingerprints + comm.rank());
  for_each(queue_, 1, CheckFinite{own, not_finite, not_finite + comm.rank()});
  comm.all_reduce_sum(std::span<double>(sums_), {queue_.native()});
}

void Slots::enqueue_end() { queue_.copy(host_sums_.data(), sums_.data(), host_sums_.size()); }

void Slots::end(std::span<double> loop_sums, const std::string& remedy) const {
  const double* not_finite = host_sums_.data() + first_ + count_ + ranks_;
  for (size_t rank = 0; rank < ranks_; ++rank)
    if (not_finite[rank] > 0)
      throw SharedError("the rollout of rank " + std::to_string(rank) +
                        " is not finite (an observation, reward or value is NaN or infinite): lower " + remedy +
                        ", or check the task; the last checkpoint was saved before this happened");
  std::copy_n(host_sums_.begin(), loop_sums.size(), loop_sums.begin());
}

std::span<const double> Slots::fingerprints() const {
  return std::span<const double>(host_sums_).subspan(first_ + count_, ranks_);
}

}  // namespace drl
