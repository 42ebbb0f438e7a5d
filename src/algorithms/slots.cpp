#include "algorithms/slots.hpp"

#include <algorithm>

#include "algorithms/algorithm_kernels.hpp"
#include "base/check.hpp"

namespace drl {

Slots::Place Slots::add(size_t size) {
  DRL_CHECK(!has_begun(), "places must be added before the first iteration");
  const Place place{own_.size(), size};
  own_.resize(own_.size() + size);
  return place;
}

void Slots::begin(const Communicator& comm, const std::function<void(StateVisitor&)>& visit_state) {
  if (!has_begun()) {
    ranks_ = static_cast<size_t>(comm.size()), kind_of_rank_ = comm.kind_of_rank();
    fingerprints_ = std::make_unique<Fingerprints>(queue_, list_state(visit_state));
    sums_ = Array<double>(queue_, own_.size() + 2 * ranks_);
    host_sums_ = Array<double>(queue_, sums_.size(), Memory::host);
  }
  std::fill(std::ranges::copy(own_, host_sums_.begin()).out, host_sums_.end(), 0.0);
  std::ranges::fill(own_, 0.0);
}

void Slots::enqueue_begin() { queue_.copy(sums_.data(), host_sums_.data(), host_sums_.size()); }

void Slots::enqueue_all_reduce(Communicator& comm) {
  double *fingerprints = sums_.data() + own_.size(), *not_finite = fingerprints + ranks_;
  fingerprints_->enqueue(fingerprints + comm.rank());
  for_each(queue_, 1, CheckFinite{sums_.data(), not_finite, not_finite + comm.rank()});
  comm.all_reduce_sum(std::span<double>(sums_), {queue_.native()});
}

void Slots::enqueue_end() { queue_.copy(host_sums_.data(), sums_.data(), host_sums_.size()); }

void Slots::end(const std::string& remedy) const {
  const double* not_finite = host_sums_.data() + own_.size() + ranks_;
  for (size_t rank = 0; rank < ranks_; ++rank)
    if (not_finite[rank] > 0)
      throw SharedError("the rollout of " + kind_of_rank_ + " " + std::to_string(rank) +
                        " is not finite (an observation, reward or value is NaN or infinite): lower " + remedy +
                        ", or check the task; the last checkpoint was saved before this happened");
}

std::span<const double> Slots::fingerprints() const {
  return std::span<const double>(host_sums_).subspan(own_.size(), ranks_);
}

}  // namespace drl
