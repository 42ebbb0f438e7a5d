#include "nets/normalizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nets/net_kernels.hpp"

namespace drl {

float NormalizerRule::inverse_std(double variance) const {
  return static_cast<float>(1 / (eps_inside_sqrt ? std::sqrt(variance + eps) : std::sqrt(variance) + eps));
}

Normalizer::Normalizer(Queue& queue, int dim, const NormalizerRule& rule)
    : queue_(queue),
      dim_(dim),
      rule_(rule),
      clip_(rule.clip > 0 ? static_cast<float>(rule.clip) : std::numeric_limits<float>::infinity()),
      mean_(dim, 0.0),
      variance_(dim, 1.0) {
  const auto size = static_cast<size_t>(dim);
  host_mean_ = Array<float>(queue, size, Memory::host), host_inv_std_ = Array<float>(queue, size, Memory::host);
  host_shift_ = Array<double>(queue, size, Memory::host), shift_ = Array<double>(queue, size);
  mean_f32_ = Array<float>(queue, size), inv_std_f32_ = Array<float>(queue, size);
  refresh();
}

void Normalizer::moments(const float* obs, int64_t rows, double* out, double* scratch) const {
  if (dim_ == 0) return;
  sum_columns(queue_, rows, 2 * dim_, scratch, ObservationMoments{obs, shift_.data(), dim_}, StoreMoments{rows, out});
}

void Normalizer::merge(std::span<const double> moments) {
  if (dim_ == 0) return;
  const double n = moments[0], total = count_ + n;
  for (int k = 0; k < dim_; ++k) {
    const double delta = moments[1 + k] / n;                      // mean of the new samples - mean so far
    const double m2 = moments[1 + dim_ + k] - delta * delta * n;  // about the new samples' own mean
    const double old_m2 = variance_[k] * count_;
    mean_[k] += delta * n / total;
    variance_[k] = std::max(0.0, (old_m2 + m2 + delta * delta * count_ * n / total) / total);
  }
  count_ = total;
  refresh();
}

void Normalizer::visit_state(StateVisitor& visitor, const std::string& name) {
  if (dim_ == 0) return;
  visitor.scalar(name + "/count", count_);
  visitor.array(name + "/mean", mean_.data(), {dim_});
  visitor.array(name + "/variance", variance_.data(), {dim_});
}

void Normalizer::refresh() {
  for (size_t k = 0; k < mean_.size(); ++k) {
    host_mean_[k] = static_cast<float>(mean_[k]);
    host_inv_std_[k] = count_ > 0 ? rule_.inverse_std(variance_[k]) : 1;
    host_shift_[k] = mean_[k];
  }
  queue_.copy(mean_f32_.data(), host_mean_.data(), mean_.size());
  queue_.copy(inv_std_f32_.data(), host_inv_std_.data(), mean_.size());
  queue_.copy(shift_.data(), host_shift_.data(), mean_.size());
}

}  // namespace drl
