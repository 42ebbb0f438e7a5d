// Running mean and variance of observations, the same on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/hd.hpp"

namespace drl {

// Null pointers: identity.
struct NormalizerView {
  const float* mean = nullptr;     // [dim]
  const float* inv_std = nullptr;  // [dim]
  DRL_HD float operator()(float x, int64_t k) const { return mean ? (x - mean[k]) * inv_std[k] : x; }
};

// Frozen while an iteration collects and updates; merges the iteration's moments afterwards. Identity before the first
// merge. Off (dim 0) is the identity for ever.
class Normalizer {
 public:
  static constexpr double kVarianceFloor = 1e-8;

  Normalizer(Queue& queue, int dim);

  NormalizerView view() const { return {mean_f32_.data(), inv_std_f32_.data()}; }
  // The same in host memory.
  NormalizerView host_view() const { return {host_mean_.data(), host_inv_std_.data()}; }
  std::span<const double> mean() const { return mean_; }
  // Doubles that an iteration's moments take in the all-reduce: n, then sum and sum of squares per dimension.
  size_t moments_size() const { return dim_ == 0 ? 0 : 1 + 2 * static_cast<size_t>(dim_); }
  // Enqueues the moments of `rows` observations [rows, dim] about the current mean into out [moments_size]. `scratch`
  // holds sum_scratch(2 dim) numbers.
  void moments(const float* obs, int64_t rows, double* out, double* scratch) const;
  // Merges moments summed over the ranks, in host memory (Chan, Golub, LeVeque: "Updating Formulae and a Pairwise
  // Algorithm for Computing Sample Variances", 1979).
  void merge(std::span<const double> moments);
  void visit_state(StateVisitor& visitor, const std::string& name);
  // Follows a change of the state from outside (load).
  void refresh();

 private:
  Queue& queue_;
  int dim_;
  double count_ = 0;
  std::vector<double> mean_, variance_;    // [dim]
  Array<float> host_mean_, host_inv_std_;  // [dim], on their way to
  Array<float> mean_f32_, inv_std_f32_;    // the queue's
  Array<double> host_shift_, shift_;       // the mean
};

}  // namespace drl
