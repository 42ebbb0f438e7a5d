// PPO's loss and its gradient for one sample a thread: what ppo_loss.hpp says, on the device.
#pragma once

#include <cstdint>

#include "drl/hd.hpp"
#include "drl/math.hpp"
#include "gpu/reduce.hpp"
#include "learn/ppo_loss.hpp"
#include "learn/rollout.hpp"

namespace drl {

// Columns of the sums over samples: KL, surrogate, value, entropy, clipped; then the gradient of each standard
// deviation's parameter (Gaussian).
inline constexpr int kLossColumns = 5;
inline int loss_columns(const RolloutView& rollout) {
  return kLossColumns + (rollout.discrete ? 0 : static_cast<int>(rollout.action_size));
}

// Thread p takes the samples p, p + partials, ... of a tile, writes their gradients, and adds to its partial sums.
struct GpuLoss {
  RolloutView rollout;
  const int32_t* rows;  // [count], of the rollout
  int64_t count;
  const LossSettings* settings;  // device memory
  PolicyOutputs outputs;         // [count, ...]
  float *d_policy, *d_value;     // [count, action_size], [count]
  int64_t partials, columns;
  double* sums;  // [partials, columns]

  DRL_HD void operator()(int64_t p) const {
    double* mine = sums + p * columns;
    double total[kLossColumns] = {};
    for (int64_t i = p; i < count; i += partials) {
      const Sample sample = rollout.discrete ? categorical(i) : gaussian(i, mine + kLossColumns);
      total[0] += static_cast<double>(sample.kl);
      total[1] += static_cast<double>(sample.surrogate);
      total[2] += static_cast<double>(value_loss(i));
      total[3] += static_cast<double>(sample.entropy);
      total[4] += static_cast<double>(sample.clipped);
    }
    for (int c = 0; c < kLossColumns; ++c) mine[c] += total[c];
  }

 private:
  static constexpr float kHalfLogTwoPi = 0.91893853320467274178f;
  struct Sample {
    float kl, entropy, surrogate, d_log_prob, clipped;
  };

  // The clipped surrogate and its slope; d ratio / d log_prob = ratio.
  DRL_HD void surrogate(int32_t row, float log_prob, Sample& s) const {
    const float advantage = (rollout.advantage[row] - settings->advantage_mean) * settings->advantage_inv_std;
    const float ratio = math::exp(log_prob - rollout.log_prob[row]);
    const float limited = math::clamp(ratio, 1.0f - settings->clip_param, 1.0f + settings->clip_param);
    const float plain = -advantage * ratio, clipped = -advantage * limited;
    s.surrogate = math::max(plain, clipped);
    s.d_log_prob = plain >= clipped ? plain : 0.0f;
    s.clipped = ratio != limited ? 1.0f : 0.0f;
  }

  DRL_HD float value_loss(int64_t i) const {
    const int32_t row = rows[i];
    const float value = outputs.value[i], old_value = rollout.value[row], target = rollout.return_target[row];
    const float change = value - old_value, limited = math::clamp(change, -settings->value_clip, settings->value_clip);
    const float error = value - target, clipped_error = old_value + limited - target;
    const bool plain = error * error >= clipped_error * clipped_error || change == limited;
    d_value[i] = plain ? 2.0f * settings->value_loss_coef * error : 0.0f;
    return math::max(error * error, clipped_error * clipped_error);
  }

  DRL_HD float std_of(int64_t k) const {
    return outputs.log_std ? math::exp(outputs.std_param[k]) : outputs.std_param[k];
  }

  DRL_HD Sample gaussian(int64_t i, double* d_std) const {
    const int64_t size = rollout.action_size;
    const int32_t row = rows[i];
    const float *mean = outputs.policy + i * size, *old_mean = rollout.policy_out + row * size;
    const float* action = rollout.action + row * size;
    Sample s{};
    float log_prob = 0;
    for (int64_t k = 0; k < size; ++k) {
      const float std = std_of(k), old_std = rollout.std[k], inv_std = 1.0f / std, log_std = math::log(std);
      const float z = (action[k] - mean[k]) * inv_std, shift = mean[k] - old_mean[k];
      log_prob += -0.5f * z * z - (log_std + kHalfLogTwoPi);
      s.kl += math::log(std / old_std) + (old_std * old_std + shift * shift) * (0.5f * inv_std * inv_std) - 0.5f;
      s.entropy += 0.5f + kHalfLogTwoPi + log_std;
    }
    surrogate(row, log_prob, s);
    // d log_prob / d mean = z / std; d log_prob / d log std = z^2 - 1; d entropy / d log std = 1.
    for (int64_t k = 0; k < size; ++k) {
      const float std = std_of(k), z = (action[k] - mean[k]) / std;
      d_policy[i * size + k] = s.d_log_prob * z / std;
      const float d_log_std = s.d_log_prob * (z * z - 1.0f) - settings->entropy_coef;
      d_std[k] += static_cast<double>(outputs.log_std ? d_log_std : d_log_std / std);
    }
    return s;
  }

  // log sum exp of the logits.
  DRL_HD static float log_sum_exp(const float* logits, int64_t size) {
    float largest = logits[0], sum = 0;
    for (int64_t k = 1; k < size; ++k) largest = math::max(largest, logits[k]);
    for (int64_t k = 0; k < size; ++k) sum += math::exp(logits[k] - largest);
    return largest + math::log(sum);
  }

  // Entropy -sum p log p, KL(old || new) = sum p_old (log p_old - log p_new); d log p_a / d logit_k = [k = a] - p_k;
  // d entropy / d logit_k = -p_k (log p_k + entropy).
  DRL_HD Sample categorical(int64_t i) const {
    const int64_t size = rollout.action_size;
    const int32_t row = rows[i], choice = rollout.choice[row];
    const float *logits = outputs.policy + i * size, *old_logits = rollout.policy_out + row * size;
    const float norm = log_sum_exp(logits, size), old_norm = log_sum_exp(old_logits, size);
    Sample s{};
    for (int64_t k = 0; k < size; ++k) {
      const float log_p = logits[k] - norm, old_log_p = old_logits[k] - old_norm;
      s.entropy -= math::exp(log_p) * log_p;
      s.kl += math::exp(old_log_p) * (old_log_p - log_p);
    }
    surrogate(row, logits[choice] - norm, s);
    for (int64_t k = 0; k < size; ++k) {
      const float log_p = logits[k] - norm, p = math::exp(log_p), chosen = choice == k ? 1.0f : 0.0f;
      d_policy[i * size + k] = s.d_log_prob * (chosen - p) + settings->entropy_coef * p * (log_p + s.entropy);
    }
    return s;
  }
};

// Writes a mini-batch's sums where they travel: the tail, and the gradient of the standard deviation's parameters.
struct StoreLoss {
  float n, *tail, *d_std;
  DRL_HD void operator()(int column, double sum) const {
    if (column == 0) tail[0] = n;
    if (column < kLossColumns) {
      tail[1 + column] = static_cast<float>(sum);
    } else {
      d_std[column - kLossColumns] = static_cast<float>(sum);
    }
  }
};

}  // namespace drl
