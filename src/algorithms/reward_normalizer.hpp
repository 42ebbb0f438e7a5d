// The normalisation of rewards by the spread of discounted returns, over all ranks.
#pragma once

#include <cstdint>

#include "algorithms/batch_plan.hpp"
#include "algorithms/rollout.hpp"
#include "algorithms/slots.hpp"
#include "device/array.hpp"
#include "device/state.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// Follows the discounted sum of each environment's past rewards in its episode. The statistics of these returns are
// frozen during an iteration, and neutral in the first one.
class RewardNormalizer {
 public:
  struct Settings {
    bool is_on = false;  // otherwise, it does nothing, and has no state
    NormalizerRule rule;
    double gamma = 1;
    bool has_largest = false;  // it follows the largest magnitude, too
  };
  RewardNormalizer(Queue& queue, Slots& slots, const BatchPlan& plan, const Settings& settings);

  NormalizerView view() const { return returns_.view(); }
  // Returns the inverse of the standard deviation.
  double inverse_std() const { return settings_.is_on ? static_cast<double>(*returns_.host_view().inv_std) : 1; }
  double largest() const { return largest_; }
  // Enqueues the moments of a rollout's returns, before the all-reduce. Overwrites rollout.advantage.
  void enqueue(const RolloutView& rollout, Slots& slots);
  void end(const Slots& slots);
  void visit_state(StateVisitor& visitor);
  // Must be called after the state was loaded.
  void state_changed() { returns_.refresh(); }

 private:
  Queue& queue_;
  Settings settings_;
  int64_t rank_;
  Normalizer returns_;
  Array<float> running_;          // [N], each environment's return so far
  Array<float> largest_of_envs_;  // [N], its largest magnitude in this iteration
  double largest_ = 0;
  Slots::Place moments_, largest_of_ranks_;
  Array<double> scratch_;
};

// --- Kernels ---

// Computes each environment's discounted sum of past rewards at every step, out [T, N]. Rewards are normalised by the
// standard deviation of these sums, as VecNormalize of Stable-Baselines3 does (Engstrom et al., "Implementation Matters
// in Deep Policy Gradients", arXiv:2005.12729, section 3).
struct DiscountedReturns {
  RolloutView r;
  float gamma;
  float* running_return;  // [N], continued from rollout to rollout
  float* out;
  float* largest = nullptr;  // [N], the largest magnitudes of these sums, unless it is null
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F sum = load<F>(running_return + i), most = F(0);
    for (int64_t t = 0; t < r.num_steps; ++t) {
      const int64_t row = t * r.num_envs + i;
      const Mask<F> ended =
          (load<Int<F>>(r.truncated + row) != Int<F>(0)) | (load<Int<F>>(r.terminated + row) != Int<F>(0));
      sum = F(gamma) * sum + load<F>(r.reward + row);
      store(out + row, sum);
      most = math::max(most, math::abs(sum));
      sum = math::select(ended, F(0), sum);
    }
    store(running_return + i, sum);
    if (largest) store(largest + i, most);
  }
};

struct LargestOf {
  const float* x;  // [count], at least 0
  int64_t count;
  double* out;
  DRL_HD void operator()(int64_t) const {
    float most = 0;
    for (int64_t i = 0; i < count; ++i) most = math::max(most, x[i]);
    *out = static_cast<double>(most);
  }
};

}  // namespace drl
