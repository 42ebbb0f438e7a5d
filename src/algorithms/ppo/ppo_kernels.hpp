// The kernels of PPO.
#pragma once

#include <cstdint>

#include "algorithms/update_kernels.hpp"

namespace drl {

// Generalised advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", arXiv:1506.02438, eq. 16). Scales the rewards, adds gamma * V(last observation) where an episode was
// truncated, and goes backwards in time. The trace is cut wherever an episode terminated or was truncated.
struct Advantages {
  RolloutView r;
  float gamma, lam, reward_scale;
  const float* last_values;  // [last_rows, N]
  NormalizerView reward_normalizer = {};
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    Int<F> left = load<Int<F>>(r.last_count + i);
    F next = F(0), next_value = load<F>(r.value + r.samples() + i);
    for (int64_t t = r.num_steps - 1; t >= 0; --t) {
      const int64_t row = t * r.num_envs + i;
      const Mask<F> truncated = load<Int<F>>(r.truncated + row) != Int<F>(0),
                    ended = truncated | (load<Int<F>>(r.terminated + row) != Int<F>(0));
      F reward = reward_normalizer.scaled(load<F>(r.reward + row)) * F(reward_scale);
      if (any(truncated)) {
        left = math::select(truncated, left - Int<F>(1), left);
        const Int<F> at = math::select(truncated, left * Int<F>(static_cast<int32_t>(r.num_envs)), Int<F>(0));
        const F last = gather<F>(last_values + i, at + lane_numbers<Int<F>>());
        reward = math::select(truncated, reward + F(gamma) * last, reward);
      }
      const F value = load<F>(r.value + row), continues = math::select(ended, F(0), F(1));
      const F delta = reward + F(gamma) * next_value * continues - value;  // TD error: r_t + gamma V(s_{t+1}) - V(s_t)
      next = delta + F(gamma * lam) * continues * next;
      next_value = value;
      store(r.reward + row, reward);
      store(r.advantage + row, next);
      store(r.return_target + row, next + value);
    }
  }
};

// Columns: sum and sum of squares of the advantages, then of the returns.
struct AdvantageMoments {
  static constexpr int kColumns = 4;
  const float *advantage, *return_target;
  template <class F>
  DRL_HD Wide<F> at(int64_t row, int column) const {
    const Wide<F> x = convert<Wide<F>>(load<F>((column < 2 ? advantage : return_target) + row));
    return column % 2 == 0 ? x : x * x;
  }
};

// Columns [updates, 2]: for each mini-batch of the iteration, the sum and the sum of squares of the advantages of this
// rank's samples.
struct MiniBatchMoments {
  MiniBatches batches;
  const UpdateInputs* inputs;
  int updates;  // number of mini-batches in the iteration
  const float* advantage;
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    for (int mini_batch = 0; mini_batch < updates; ++mini_batch) {
      const Wide<F> a = convert<Wide<F>>(
          gather<F>(advantage, batches.rows<F>(inputs->iteration, static_cast<uint32_t>(mini_batch), i)));
      sums.add(2 * mini_batch, a);
      sums.add(2 * mini_batch + 1, a * a);
    }
  }
};

DRL_HD double variance(double n, double sum, double squares) {
  const double mean = sum / n;
  return math::max(0.0, squares / n - mean * mean);
}

struct LossSettings {
  float clip_param = 0.2f;
  float value_clip = 0.2f;  // infinity: the value loss is not clipped
  float value_loss_coef = 1.0f;
  float entropy_coef = 0.0f;
  float weight = 1;  // of a sample in the surrogate and the value loss: 0.5 if mirrored samples augment the batch
  float advantage_mean = 0, advantage_inv_std = 1;  // over all ranks

  // Sets the normalisation of advantages to mean 0 and standard deviation 1 (unbiased, as in torch.std) from their
  // moments.
  DRL_HD void standardize(double n, double sum, double squares) {
    const double unbiased = n > 1 ? n / (n - 1) : 1;
    advantage_mean = static_cast<float>(sum / n);
    advantage_inv_std = static_cast<float>(1 / (math::sqrt_double(variance(n, sum, squares) * unbiased) + 1e-8));
  }
};

// Columns of PPO's loss, after those that every loss has.
enum LossColumn : int { kSurrogate = kKl + 1, kValue, kEntropy, kClipped, kLossColumns };
inline constexpr int kSymmetryColumn = kLossColumns;  // only with SymmetryUse

// Starts an update and normalises the advantages over the whole rollout. `sums`: n, sum, sum of squares of the
// advantages.
struct StandardizeAdvantages {
  ResetUpdateNumbers begin;
  LossSettings* settings;
  const double* sums;
  DRL_HD void operator()(int64_t i) const {
    begin(i);
    settings->standardize(sums[0], sums[1], sums[2]);
  }
};

// Takes the weight of the entropy for an iteration.
struct SetEntropyCoef {
  const UpdateInputs* inputs;
  LossSettings* settings;
  DRL_HD void operator()(int64_t) const { settings->entropy_coef = inputs->entropy_coef; }
};

// Starts a mini-batch whose advantages are normalised over the mini-batch.
struct StandardizeMiniBatch {
  LossSettings* settings;
  const UpdateNumbers* numbers;
  double count;           // number of mini-batches per epoch
  const double* sums;     // sums[0]: n, the number of all advantages
  const double* moments;  // [updates, 2]
  DRL_HD void operator()(int64_t) const {
    const double* of_mini_batch = moments + 2 * numbers->mini_batch;
    settings->standardize(sums[0] / count, of_mini_batch[0], of_mini_batch[1]);
  }
};

// Part of PPO's loss (below): the value loss of a tile of samples, with its gradient with respect to the values.
struct PpoValueLoss {
  RolloutView r;
  const LossSettings* settings;
  LossTile tile = {};

  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const LossSettings s = *settings;
    const Int<F> row = load<Int<F>>(tile.rows + i);
    const F v = load<F>(tile.value + i), old_value = gather<F>(r.value, row), target = gather<F>(r.return_target, row);
    const F change = v - old_value, change_limited = math::clamp(change, F(-s.value_clip), F(s.value_clip));
    const F error = v - target, clipped_error = old_value + change_limited - target;
    const F squared = error * error, clipped_squared = clipped_error * clipped_error;
    const Mask<F> is_plain = (squared >= clipped_squared) | (change == change_limited);
    store(tile.d_value + i, math::select(is_plain, F(2.0f * s.value_loss_coef * s.weight) * error, F(0)));
    sums.add(kValue, F(s.weight) * math::max(squared, clipped_squared));
  }
};

// The other part: the surrogate loss and the entropy, with their gradient with respect to the policy's outputs.
template <class Policy>
struct PpoPolicyLoss {
  Policy policy;
  RolloutView r;
  const LossSettings* settings;
  LossTile tile = {};
  int columns = kLossColumns;  // of the loss

  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const LossSettings s = *settings;
    const auto [rows, policy_out, value, d_policy, d_value, mirrored_action] = tile;
    const Int<F> row = load<Int<F>>(rows + i);
    // Mirrored actions are those of the tile. There is no old output to compare them with.
    const bool mirrored = mirrored_action;
    const Int<F> at = mirrored ? Int<F>(static_cast<int32_t>(i)) + lane_numbers<Int<F>>() : row;
    const auto* action = reinterpret_cast<const typename Policy::Action*>(mirrored ? mirrored_action : r.action);
    const float* old_out = mirrored ? policy_out : r.policy_out;
    // These come first, so that a GPU waits for all loads at once.
    const F advantage = (gather<F>(r.advantage, row) - F(s.advantage_mean)) * F(s.advantage_inv_std),
            old_log_prob = gather<F>(r.log_prob, row);
    const Evaluated<F> e = policy.template evaluate<F>(policy_out, old_out, action, i, at, d_policy);

    const F ratio = fast_exp(e.log_prob - old_log_prob);
    const F clipped_ratio = math::clamp(ratio, F(1.0f - s.clip_param), F(1.0f + s.clip_param));
    const F surrogate = -advantage * ratio, clipped_surrogate = -advantage * clipped_ratio;
    const F d_log_prob = math::select(surrogate >= clipped_surrogate, surrogate, F(0));  // d ratio / d log_prob = ratio
    policy.template gradient<F>(policy_out, action, i, at, e, F(s.weight) * d_log_prob,
                                F(mirrored ? 0.0f : s.entropy_coef), d_policy, sums, columns);

    sums.add(kSurrogate, F(s.weight) * math::max(surrogate, clipped_surrogate));
    if (mirrored) return;
    sums.add(kSamples, F(1));
    sums.add(kKl, e.kl);
    sums.add(kEntropy, e.entropy);
    sums.add(kClipped, math::select(ratio == clipped_ratio, F(0), F(1)));
  }
};

// loss = max(-A ratio, -A clip(ratio, 1 +- clip_param)) + c_v max((v - R)^2, (v_clipped - R)^2) - c_e entropy
// (Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, eq. 7 and 9; value clipping and the
// missing 1/2 as in rsl_rl). Computes it for a tile of samples, with its gradient with respect to the networks'
// outputs. Adds to the sums of LossColumn, and after them to the gradients of the distribution's own parameters.
template <class Policy>
struct PpoLoss {
  Policy policy;
  RolloutView r;
  const LossSettings* settings;
  LossTile tile = {};
  int columns = kLossColumns;  // of the loss

  DRL_HD PpoPolicyLoss<Policy> policy_loss() const { return {policy, r, settings, tile, columns}; }
  DRL_HD PpoValueLoss value_loss() const { return {r, settings, tile}; }
  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    policy_loss().template lanes<F>(i, sums);
    value_loss().template lanes<F>(i, sums);
  }
};

}  // namespace drl
