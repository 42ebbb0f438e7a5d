#include "learn/ppo_loss.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "drl/math.hpp"
#include "base/simd.hpp"

namespace drl {
namespace {

constexpr float kHalfLogTwoPi = 0.91893853320467274178f;
constexpr int kBlock = 256;  // samples at a time: temporaries stay in the first cache

// One block's samples side by side, so that every loop below runs over contiguous arrays.
struct Block {
  int n;
  alignas(64) float advantage[kBlock], old_log_prob[kBlock], old_value[kBlock], return_target[kBlock];
  alignas(64) float log_prob[kBlock], ratio[kBlock], d_log_prob[kBlock];  // d_log_prob: d loss / d log_prob
  alignas(64) float kl[kBlock], surrogate[kBlock], value_loss[kBlock], entropy[kBlock], clipped[kBlock];
};

void gather(const Rollout& r, std::span<const int32_t> rows, const LossSettings& s, Block& b) {
  b.n = static_cast<int>(rows.size());
  for (int i = 0; i < b.n; ++i) {
    const int32_t row = rows[i];
    b.advantage[i] = (r.advantage[row] - s.advantage_mean) * s.advantage_inv_std;
    b.old_log_prob[i] = r.log_prob[row];
    b.old_value[i] = r.value[row];
    b.return_target[i] = r.return_target[row];
  }
}

// The clipped surrogate and its slope; d ratio / d log_prob = ratio.
DRL_CLONES void surrogate_loss(const LossSettings& s, Block& b) {
  for (int i = 0; i < b.n; ++i) {
    const float ratio = math::exp(b.log_prob[i] - b.old_log_prob[i]);
    const float limited = math::clamp(ratio, 1.0f - s.clip_param, 1.0f + s.clip_param);
    const float plain = -b.advantage[i] * ratio, clipped = -b.advantage[i] * limited;
    b.ratio[i] = ratio;
    b.surrogate[i] = math::max(plain, clipped);
    b.d_log_prob[i] = plain >= clipped ? plain : 0.0f;
    b.clipped[i] = ratio != limited ? 1.0f : 0.0f;
  }
}

DRL_CLONES void value_loss(const LossSettings& s, Block& b, const float* value, float* d_value) {
  for (int i = 0; i < b.n; ++i) {
    const float change = value[i] - b.old_value[i];
    const float limited = math::clamp(change, -s.value_clip, s.value_clip);
    const float error = value[i] - b.return_target[i];
    const float clipped_error = b.old_value[i] + limited - b.return_target[i];
    const bool plain = error * error >= clipped_error * clipped_error || change == limited;
    b.value_loss[i] = math::max(error * error, clipped_error * clipped_error);
    d_value[i] = plain ? 2.0f * s.value_loss_coef * error : 0.0f;
  }
}

void add_sums(const Block& b, LossSums& sums) {
  sums.n += b.n;
  for (int i = 0; i < b.n; ++i) {
    sums.kl += b.kl[i];
    sums.surrogate += b.surrogate[i];
    sums.value += b.value_loss[i];
    sums.entropy += b.entropy[i];
    sums.clipped += b.clipped[i];
  }
}

struct GaussianBlock {
  alignas(64) float old_mean[kBlock], action[kBlock], mean[kBlock], z[kBlock];  // one dimension; z = (a - mean) / std
};

void gather_dimension(const Rollout& r, std::span<const int32_t> rows, const float* policy, int64_t k,
                      GaussianBlock& g) {
  const int64_t size = r.action_size;
  for (size_t i = 0; i < rows.size(); ++i) {
    g.old_mean[i] = r.policy_out[rows[i] * size + k];
    g.action[i] = r.action[rows[i] * size + k];
    g.mean[i] = policy[static_cast<int64_t>(i) * size + k];
  }
}

// Adds one dimension's log-probability and KL.
DRL_CLONES void gaussian_log_prob(float std, float old_std, bool first, GaussianBlock& g, Block& b) {
  const float inv_std = 1.0f / std, log_norm = math::log(std) + kHalfLogTwoPi;
  const float log_ratio = math::log(std / old_std), inv_two_variance = 0.5f * inv_std * inv_std;
  for (int i = 0; i < b.n; ++i) {
    g.z[i] = (g.action[i] - g.mean[i]) * inv_std;
    const float shift = g.mean[i] - g.old_mean[i];
    const float log_prob = -0.5f * g.z[i] * g.z[i] - log_norm;
    const float kl = log_ratio + (old_std * old_std + shift * shift) * inv_two_variance - 0.5f;
    b.log_prob[i] = first ? log_prob : b.log_prob[i] + log_prob;
    b.kl[i] = first ? kl : b.kl[i] + kl;
  }
}

float std_of(const PolicyOutputs& outputs, int64_t k) {
  return outputs.log_std ? math::exp(outputs.std_param[k]) : outputs.std_param[k];
}

// d log_prob / d mean = z / std; d log_prob / d log std = z^2 - 1; d entropy / d log std = 1.
void gaussian_gradient(const Rollout& r, const LossSettings& s, const PolicyOutputs& outputs, int64_t k,
                       const GaussianBlock& g, const Block& b, float* d_policy, double* d_std) {
  const float std = std_of(outputs, k), inv_std = 1.0f / std;
  const double per_param = outputs.log_std ? 1.0 : 1.0 / std;  // d log std / d parameter
  double sum = 0;
  for (int i = 0; i < b.n; ++i) {
    d_policy[i * r.action_size + k] = b.d_log_prob[i] * g.z[i] * inv_std;
    sum += b.d_log_prob[i] * (g.z[i] * g.z[i] - 1.0f) - s.entropy_coef;
  }
  d_std[k] += sum * per_param;
}

void gaussian_block(const Rollout& r, std::span<const int32_t> rows, const LossSettings& s,
                    const PolicyOutputs& outputs, const PolicyGradients& gradients, Block& b) {
  GaussianBlock g;
  float entropy = 0;
  for (int64_t k = 0; k < r.action_size; ++k) {
    gather_dimension(r, rows, outputs.policy, k, g);
    gaussian_log_prob(std_of(outputs, k), r.std[k], k == 0, g, b);
    entropy += 0.5f + kHalfLogTwoPi + math::log(std_of(outputs, k));
  }
  std::fill_n(b.entropy, b.n, entropy);
  surrogate_loss(s, b);
  for (int64_t k = 0; k < r.action_size; ++k) {
    if (r.action_size > 1) {  // with one dimension it is still there
      gather_dimension(r, rows, outputs.policy, k, g);
      const float inv_std = 1.0f / std_of(outputs, k);
      for (int i = 0; i < b.n; ++i) g.z[i] = (g.action[i] - g.mean[i]) * inv_std;
    }
    gaussian_gradient(r, s, outputs, k, g, b, gradients.policy, gradients.std_param);
  }
}

// The logits of a block's samples, choice by choice.
struct CategoricalBlock {
  static constexpr int64_t kCapacity = 16 * kBlock;
  alignas(64) float log_p[kCapacity], p[kCapacity];          // [action_size, kBlock], new policy
  alignas(64) float old_log_p[kCapacity], old_p[kCapacity];  // old policy
  alignas(64) int32_t choice[kBlock];
  alignas(64) float largest[kBlock], sum[kBlock];
};

void gather_logits(const Rollout& r, std::span<const int32_t> rows, const float* policy, CategoricalBlock& c) {
  const int64_t size = r.action_size, n = static_cast<int64_t>(rows.size());
  for (int64_t i = 0; i < n; ++i) {
    const float *logits = policy + i * size, *old = r.policy_out.data() + rows[i] * size;
    for (int64_t k = 0; k < size; ++k) c.log_p[k * n + i] = logits[k], c.old_log_p[k * n + i] = old[k];
    c.choice[i] = r.choice[rows[i]];
  }
}

// Logits to log-probabilities, in place, and probabilities: log p_k = logit_k - log sum exp.
DRL_CLONES void log_softmax(int64_t size, int64_t n, float* log_p, float* p, float* largest, float* sum) {
  for (int64_t i = 0; i < n; ++i) largest[i] = log_p[i], sum[i] = 0;
  for (int64_t k = 1; k < size; ++k)
    for (int64_t i = 0; i < n; ++i) largest[i] = math::max(largest[i], log_p[k * n + i]);
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < n; ++i) {
      p[k * n + i] = math::exp(log_p[k * n + i] - largest[i]);
      sum[i] += p[k * n + i];
    }
  for (int64_t i = 0; i < n; ++i) largest[i] += math::log(sum[i]), sum[i] = 1.0f / sum[i];
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < n; ++i) log_p[k * n + i] -= largest[i], p[k * n + i] *= sum[i];
}

// Entropy - sum p log p, KL(old || new) = sum p_old (log p_old - log p_new), and the chosen action's log-probability.
DRL_CLONES void categorical_log_prob(int64_t size, const CategoricalBlock& c, Block& b) {
  const int64_t n = b.n;
  for (int64_t i = 0; i < n; ++i) b.entropy[i] = 0, b.kl[i] = 0, b.log_prob[i] = 0;
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < n; ++i) {
      const float log_p = c.log_p[k * n + i];
      b.entropy[i] -= c.p[k * n + i] * log_p;
      b.kl[i] += c.old_p[k * n + i] * (c.old_log_p[k * n + i] - log_p);
      b.log_prob[i] += c.choice[i] == k ? log_p : 0.0f;
    }
}

// d log p_a / d logit_k = [k = a] - p_k; d entropy / d logit_k = -p_k (log p_k + entropy).
DRL_CLONES void categorical_gradient(int64_t size, const LossSettings& s, const CategoricalBlock& c, const Block& b,
                                     float* d_policy) {
  const int64_t n = b.n;
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < n; ++i) {
      const float chosen = c.choice[i] == k ? 1.0f : 0.0f, p = c.p[k * n + i];
      d_policy[i * size + k] =
          b.d_log_prob[i] * (chosen - p) + s.entropy_coef * p * (c.log_p[k * n + i] + b.entropy[i]);
    }
}

void categorical_block(const Rollout& r, std::span<const int32_t> rows, const LossSettings& s,
                       const PolicyOutputs& outputs, const PolicyGradients& gradients, Block& b) {
  CategoricalBlock c;
  gather_logits(r, rows, outputs.policy, c);
  log_softmax(r.action_size, b.n, c.log_p, c.p, c.largest, c.sum);
  log_softmax(r.action_size, b.n, c.old_log_p, c.old_p, c.largest, c.sum);
  categorical_log_prob(r.action_size, c, b);
  surrogate_loss(s, b);
  categorical_gradient(r.action_size, s, c, b, gradients.policy);
}

// Samples at a time: fewer where there are many choices, so that they fit a CategoricalBlock.
size_t block_size(const Rollout& rollout) {
  if (!rollout.discrete) return kBlock;
  DRL_CHECK(rollout.action_size <= CategoricalBlock::kCapacity, "more discrete actions than a block of the loss holds");
  return static_cast<size_t>(std::min<int64_t>(kBlock, CategoricalBlock::kCapacity / rollout.action_size));
}

}  // namespace

void write_tail(const LossSums& s, float* tail) {
  const double values[kTailSize] = {s.n, s.kl, s.surrogate, s.value, s.entropy, s.clipped};
  for (int64_t i = 0; i < kTailSize; ++i) tail[i] = static_cast<float>(values[i]);
}

LossSums read_tail(const float* tail) { return {tail[0], tail[1], tail[2], tail[3], tail[4], tail[5]}; }

void ppo_loss(const Rollout& rollout, std::span<const int32_t> rows, const LossSettings& settings,
              const PolicyOutputs& outputs, const PolicyGradients& gradients, LossSums& sums) {
  Block block;
  const size_t step = block_size(rollout);
  for (size_t first = 0; first < rows.size(); first += step) {
    const std::span<const int32_t> part = rows.subspan(first, std::min(step, rows.size() - first));
    PolicyOutputs out = outputs;
    PolicyGradients grad = gradients;
    out.policy += first * rollout.action_size, grad.policy += first * rollout.action_size;
    out.value += first, grad.value += first;
    gather(rollout, part, settings, block);
    if (rollout.discrete) {
      categorical_block(rollout, part, settings, out, grad, block);
    } else {
      gaussian_block(rollout, part, settings, out, grad, block);
    }
    value_loss(settings, block, out.value, grad.value);
    add_sums(block, sums);
  }
}

}  // namespace drl
