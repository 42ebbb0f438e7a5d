// Running mean and variance of observations, the same on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/hd.hpp"
#include "drl/math.hpp"

namespace drl {

// How a variance becomes a scale, and how far from 0 what is normalised may lie.
struct NormalizerRule {
  double eps = 1e-2;
  double clip = 0;          // 0: no limit
  bool under_root = false;  // 1 / sqrt(variance + eps), as VecNormalize of Stable-Baselines3 has it; else
                            // 1 / (sqrt(variance) + eps), as EmpiricalNormalization of rsl_rl
};

// Null pointers: identity.
struct NormalizerView {
  const float* mean = nullptr;     // [dim]
  const float* inv_std = nullptr;  // [dim]
  float clip = __builtin_inff();
  // Numbers x of the dimensions from k on.
  template <class F>
  DRL_HD F operator()(F x, int64_t k) const {
    return mean ? math::clamp((x - load<F>(mean + k)) * load<F>(inv_std + k), F(-clip), F(clip)) : x;
  }
  // Of the first dimension, without the shift by the mean.
  template <class F>
  DRL_HD F scaled(F x) const {
    return inv_std ? math::clamp(x * F(*inv_std), F(-clip), F(clip)) : x;
  }
};

// Frozen while an iteration collects and updates; merges the iteration's moments afterwards. Before the first merge it
// clips only. Off (dim 0) is the identity for ever.
class Normalizer {
 public:
  Normalizer(Queue& queue, int dim, const NormalizerRule& rule = {});

  NormalizerView view() const { return {mean_f32_.data(), inv_std_f32_.data(), clip_}; }
  // The same in host memory.
  NormalizerView host_view() const { return {host_mean_.data(), host_inv_std_.data(), clip_}; }
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
  NormalizerRule rule_;
  float clip_;
  double count_ = 0;
  std::vector<double> mean_, variance_;    // [dim]
  Array<float> host_mean_, host_inv_std_;  // [dim], on their way to
  Array<float> mean_f32_, inv_std_f32_;    // the queue's
  Array<double> host_shift_, shift_;       // the mean
};

}  // namespace drl
