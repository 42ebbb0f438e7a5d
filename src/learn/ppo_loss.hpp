// PPO's loss and its gradient with respect to the networks' outputs, by hand on raw arrays: an engine only has to run
// its networks forward and backward.
#pragma once

#include <cstdint>
#include <span>

#include "learn/network.hpp"
#include "learn/rollout.hpp"

namespace drl {

struct LossSettings {
  float clip_param = 0.2f;
  float value_clip = 0.2f;  // infinity: the value loss is not clipped
  float value_loss_coef = 1.0f;
  float entropy_coef = 0.0f;
  float advantage_mean = 0, advantage_inv_std = 1;  // of the whole rollout, over all ranks
};

// Sums over samples; they ride behind the gradient in its all-reduce.
struct LossSums {
  double n = 0, kl = 0, surrogate = 0, value = 0, entropy = 0, clipped = 0;
};
inline constexpr int64_t kTailSize = 6;  // the members of LossSums, in that order, as float32

void write_tail(const LossSums& sums, float* tail);
LossSums read_tail(const float* tail);

// What the loss reads of the networks for B samples.
struct PolicyOutputs {
  const float* policy = nullptr;     // [B, action_size], the actor's means or logits
  const float* value = nullptr;      // [B]
  const float* std_param = nullptr;  // [action_size], the parameter behind the standard deviation (Gaussian)
  bool log_std = true;               // it is its logarithm
};

// Gradients of the SUM of the samples' losses.
struct PolicyGradients {
  float* policy = nullptr;      // [B, action_size], written
  float* value = nullptr;       // [B], written
  double* std_param = nullptr;  // [action_size], added to
};

// loss = max(-A ratio, -A clip(ratio, 1 +- clip_param)) + c_v max((v - R)^2, (v_clipped - R)^2) - c_e entropy
// (Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, eq. 7 and 9; value clipping and the
// missing 1/2 as in rsl_rl), for the samples `rows` [B] of the rollout, indices into [T * N]. KL is KL(old || new) in
// closed form. Adds to `sums`.
void ppo_loss(const Rollout& rollout, std::span<const int32_t> rows, const LossSettings& settings,
              const PolicyOutputs& outputs, const PolicyGradients& gradients, LossSums& sums);

}  // namespace drl
