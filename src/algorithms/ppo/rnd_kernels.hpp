// The kernels of random network distillation.
#pragma once

#include <cstdint>

#include "algorithms/update_kernels.hpp"
#include "nets/normalizer.hpp"
#include "policy/noise.hpp"

namespace drl {

// The weight of the intrinsic reward at a step of the environments' lifetime, counted from 1, as in rsl_rl.
struct RndWeight {
  enum : int32_t { constant, step, linear } schedule;
  double initial_value, final_value;
  int64_t initial_step, final_step;
  DRL_HD double at(int64_t now) const {
    if (schedule == constant || (schedule == linear && now < initial_step)) return initial_value;
    if (schedule == step) return now < final_step ? initial_value : final_value;
    if (now > final_step) return final_value;
    const double done = static_cast<double>(now - initial_step) / static_cast<double>(final_step - initial_step);
    return initial_value + (final_value - initial_value) * done;
  }
};

// The Euclidean distance between the embeddings of each sample.
struct EmbeddingDistance {
  const float *target, *prediction;  // [samples, size]
  int size;
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F sum = F(0);
    for (int k = 0; k < size; ++k) {
      const F d = load_column<F>(target, i, size, k) - load_column<F>(prediction, i, size, k);
      sum = sum + d * d;
    }
    store(out + i, math::sqrt(sum));
  }
};

// Computes each environment's discounted sum of past intrinsic rewards, out [T, N]. It goes on when an episode ends, as
// in rsl_rl: what is new does not depend on episodes.
struct DiscountedIntrinsicRewards {
  static constexpr float kGamma = 0.99f;  // as in rsl_rl
  int64_t num_steps, num_envs;
  const float* intrinsic;  // [T, N]
  float* running;          // [N], continued from rollout to rollout
  float* out;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F sum = load<F>(running + i);
    for (int64_t row = i; row < num_steps * num_envs; row += num_envs) {
      sum = F(kGamma) * sum + load<F>(intrinsic + row);
      store(out + row, sum);
    }
    store(running + i, sum);
  }
};

// Normalises and weights the intrinsic rewards, and adds them to the rewards.
struct AddIntrinsicRewards {
  RolloutView r;
  float* intrinsic;  // [T, N]
  RndWeight weight;
  const int64_t* lifetime_step;  // at row 0
  NormalizerView normalizer;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    for (int64_t t = 0; t < r.num_steps; ++t) {
      const int64_t row = t * r.num_envs + i;
      const F x =
          normalizer.scaled(load<F>(intrinsic + row)) * F(static_cast<float>(weight.at(*lifetime_step + t + 1)));
      store(intrinsic + row, x);
      store(r.reward + row, load<F>(r.reward + row) + x);
    }
  }
};

struct IntrinsicRewardSum {
  static constexpr int kColumns = 1;
  const float* intrinsic;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int) const {
    return convert<Wide<F>>(load<F>(intrinsic + row));
  }
};

// The loss of a sample is the mean over the embedding's numbers of (prediction - target)^2. Writes its derivative.
struct RndLoss {
  enum : int { loss = kKl + 1, columns };  // after the columns that every loss has
  const float *out, *target;               // [B, size] of the tile, [T+1, N, size] of the rollout
  int size;
  float* d_out;
  const int32_t* rows = nullptr;  // [B] indices into the rollout
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const Int<F> row = load<Int<F>>(rows + i);
    const float inv_size = 1 / static_cast<float>(size);
    F sum = F(0);
    for (int k = 0; k < size; ++k) {
      const F error = load_column<F>(out, i, size, k) - gather<F>(target + k, row, size);
      store_column(d_out, i, size, k, F(2 * inv_size) * error);
      sum = sum + error * error;
    }
    sums.add(kSamples, F(1));
    sums.add(loss, sum * F(inv_size));
  }
};

}  // namespace drl
