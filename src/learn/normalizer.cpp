#include "learn/normalizer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace drl {

Normalizer::Normalizer(int dim) : dim_(dim), mean_(dim, 0.0), variance_(dim, 1.0) { refresh(); }

NormalizerView Normalizer::view() const {
  if (dim_ == 0) return {};
  return {mean_f32_.data(), inv_std_f32_.data()};
}

void Normalizer::moments(const float* obs, int64_t rows, std::span<double> out) const {
  if (dim_ == 0) return;
  std::fill(out.begin(), out.end(), 0.0);
  double *sum = out.data() + 1, *squares = sum + dim_;
  out[0] = static_cast<double>(rows);
  for (int64_t row = 0; row < rows; ++row)
    for (int k = 0; k < dim_; ++k) {
      const double d = static_cast<double>(obs[row * dim_ + k]) - mean_[k];
      sum[k] += d;
      squares[k] += d * d;
    }
}

void Normalizer::merge(std::span<const double> moments) {
  if (dim_ == 0) return;
  const double n = moments[0], total = count_ + n;
  for (int k = 0; k < dim_; ++k) {
    const double delta = moments[1 + k] / n;                      // mean of the new ones - mean so far
    const double m2 = moments[1 + dim_ + k] - delta * delta * n;  // about the new ones' own mean
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
  mean_f32_.assign(mean_.begin(), mean_.end());
  inv_std_f32_.resize(mean_.size());
  // Before the first merge the variance is 1, and 1/sqrt(1 + floor) rounds to 1 in float.
  for (size_t k = 0; k < mean_.size(); ++k)
    inv_std_f32_[k] = static_cast<float>(1 / std::sqrt(variance_[k] + kVarianceFloor));
}

void normalize_rows(const NormalizerView& view, const float* obs, int64_t rows, int64_t dim, float* out) {
  if (view.mean == nullptr) {
    std::memcpy(out, obs, static_cast<size_t>(rows * dim) * sizeof(float));
    return;
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < dim; ++k) out[row * dim + k] = (obs[row * dim + k] - view.mean[k]) * view.inv_std[k];
}

void gather_normalized(const NormalizerView& view, const float* obs, std::span<const int32_t> index, int64_t dim,
                       float* out) {
  for (size_t row = 0; row < index.size(); ++row)
    normalize_rows(view, obs + index[row] * dim, 1, dim, out + static_cast<int64_t>(row) * dim);
}

}  // namespace drl
