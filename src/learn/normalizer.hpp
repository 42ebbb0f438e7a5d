// Running mean and variance of observations, the same on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/state.hpp"

namespace drl {

// y = (x - mean) * inv_std. Null pointers: identity.
struct NormalizerView {
  const float* mean = nullptr;     // [dim]
  const float* inv_std = nullptr;  // [dim]
};

struct Normalizers {
  NormalizerView obs, critic_obs;
};

// Frozen while an iteration collects and updates; merges the iteration's moments afterwards. Identity before the first
// merge. Off (dim 0) is the identity for ever.
class Normalizer {
 public:
  static constexpr double kVarianceFloor = 1e-8;

  explicit Normalizer(int dim = 0);

  NormalizerView view() const;
  std::span<const double> mean() const { return mean_; }
  // Doubles that an iteration's moments take in the all-reduce: n, then sum and sum of squares per dimension.
  size_t moments_size() const { return dim_ == 0 ? 0 : 1 + 2 * static_cast<size_t>(dim_); }
  // Writes the moments of `rows` observations [rows, dim] about the current mean, in float64, into out [moments_size].
  void moments(const float* obs, int64_t rows, std::span<double> out) const;
  // Merges moments summed over the ranks (Chan, Golub, LeVeque: "Updating Formulae and a Pairwise Algorithm for
  // Computing Sample Variances", 1979).
  void merge(std::span<const double> moments);
  void visit_state(StateVisitor& visitor, const std::string& name);
  // Follows a change of the state from outside (load).
  void refresh();

 private:
  int dim_;
  double count_ = 0;
  std::vector<double> mean_, variance_;  // [dim]
  std::vector<float> mean_f32_, inv_std_f32_;
};

// out [rows, dim] = normalised obs [rows, dim] (copied if the view is the identity).
void normalize_rows(const NormalizerView& view, const float* obs, int64_t rows, int64_t dim, float* out);
// The same for the rows of obs that `index` [rows] names.
void gather_normalized(const NormalizerView& view, const float* obs, std::span<const int32_t> index, int64_t dim,
                       float* out);

}  // namespace drl
