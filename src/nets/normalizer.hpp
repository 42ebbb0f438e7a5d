// Normalisation by a running mean and variance, which are the same on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/lanes/hd.hpp"
#include "drl/math.hpp"

namespace drl {

// The rule by which the variance determines the scale, and the limit of normalised values.
struct NormalizerRule {
  double eps = 1e-2;
  double clip = 0;               // largest absolute value; 0: no limit
  bool eps_inside_sqrt = false;  // true: 1 / sqrt(variance + eps), as in Stable-Baselines3's VecNormalize;
                                 // false: 1 / (sqrt(variance) + eps), as in rsl_rl's EmpiricalNormalization
  float inverse_std(double variance) const;
};

// A normaliser's data for kernels. With null pointers it is the identity.
struct NormalizerView {
  const float* mean = nullptr;     // [dim]
  const float* inv_std = nullptr;  // [dim]
  float clip = __builtin_inff();
  // Returns x normalised, where the lanes of x are dimensions k, k + 1, ...
  template <class F>
  DRL_HD F operator()(F x, int64_t k) const {
    return mean ? math::clamp((x - load<F>(mean + k)) * load<F>(inv_std + k), F(-clip), F(clip)) : x;
  }
  // Returns x with the scale and the limit of dimension 0, without subtracting the mean.
  template <class F>
  DRL_HD F scaled(F x) const {
    return inv_std ? math::clamp(x * F(*inv_std), F(-clip), F(clip)) : x;
  }
};

// A running mean and variance per dimension. They are frozen during an iteration, whose moments are merged afterwards.
// Before the first merge, a Normalizer only clips. With dim 0 it is always the identity.
class Normalizer {
 public:
  Normalizer(Queue& queue, int dim, const NormalizerRule& rule = {});

  NormalizerView view() const { return {mean_f32_.data(), inv_std_f32_.data(), clip_}; }
  // Returns the same view in host memory.
  NormalizerView host_view() const { return {host_mean_.data(), host_inv_std_.data(), clip_}; }
  std::span<const double> mean() const { return mean_; }
  // Returns the size of an iteration's moments in doubles: n, then the sums and then the sums of squares per dimension.
  size_t moments_size() const { return dim_ == 0 ? 0 : 1 + 2 * static_cast<size_t>(dim_); }
  // Enqueues the computation of the moments of `obs` [rows, dim] about the current mean, into out [moments_size].
  // `scratch` holds sum_scratch(2 dim) doubles.
  void moments(const float* obs, int64_t rows, double* out, double* scratch) const;
  // Merges moments summed over the ranks, in host memory (Chan, Golub, LeVeque: "Updating Formulae and a Pairwise
  // Algorithm for Computing Sample Variances", 1979).
  void merge(std::span<const double> moments);
  void visit_state(StateVisitor& visitor, const std::string& name);
  // Must be called after the state was changed from outside (loaded).
  void refresh();

 private:
  Queue& queue_;
  int dim_;
  NormalizerRule rule_;
  float clip_;
  double count_ = 0;
  std::vector<double> mean_, variance_;    // [dim]
  Array<float> host_mean_, host_inv_std_;  // [dim], host copies
  Array<float> mean_f32_, inv_std_f32_;    // [dim], in the queue's memory
  Array<double> host_shift_, shift_;       // [dim], the mean in double
};

}  // namespace drl
