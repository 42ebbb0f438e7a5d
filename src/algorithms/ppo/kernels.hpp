// PPO's own arithmetic, as function objects.
#pragma once

#include <cstdint>

#include "algorithms/kernels.hpp"
#include "algorithms/ppo/batch_plan.hpp"
#include "device/reduce.hpp"
#include "drl/math.hpp"

namespace drl {

struct LossSettings {
  float clip_param = 0.2f;
  float value_clip = 0.2f;  // infinity: the value loss is not clipped
  float value_loss_coef = 1.0f;
  float entropy_coef = 0.0f;
  float advantage_mean = 0, advantage_inv_std = 1;  // of the whole rollout, over all ranks
};

// Sums over a mini-batch's samples; they ride behind the gradient in its all-reduce, as float32, behind their number.
enum LossColumn : int { kKl, kSurrogate, kValue, kEntropy, kClipped, kLossColumns };
inline constexpr int kTailSize = 1 + kLossColumns;

// What one mini-batch hands to the next, and the iteration to the host.
struct PpoNumbers {
  int64_t lifetime_step;  // of the environments, at the rollout's row 0
  int64_t adam_steps;
  double learning_rate;
  int64_t iteration;
  int32_t round;  // mini-batches done in this iteration
  int32_t bad_gradient;
  LossSettings loss;
  AdamScale adam;
  double squared_norms[2];    // of the gradient: actor, critic
  float clip[2];              // what they are multiplied by
  double sums[kLossColumns];  // over the iteration's mini-batches
  double n;                   // samples of them
  double gradient_norm;
};

// What the host tells an iteration.
struct PpoInputs {
  int64_t iteration;
  double learning_rate;  // NaN: it stays as it is
};

// The adaptive rule: mean KL above twice the desired one divides by 1.5 (not below 1e-5), below half of it multiplies
// by 1.5 (not above 1e-2).
DRL_HD double adapted_learning_rate(double learning_rate, double kl, double desired_kl) {
  if (kl > 2 * desired_kl) return math::max(1e-5, learning_rate / 1.5);
  if (kl < desired_kl / 2 && kl > 0) return math::min(1e-2, learning_rate * 1.5);
  return learning_rate;
}

DRL_HD double variance(double n, double sum, double squares) {
  const double mean = sum / n;
  return math::max(0.0, squares / n - mean * mean);
}

struct AdvanceLifetime {
  int64_t* step;
  int64_t by;
  DRL_HD void operator()(int64_t) const { *step += by; }
};

struct BeginUpdate {
  PpoNumbers* numbers;
  const double* sums;  // of all advantages: n, sum, sum of squares, ...
  const PpoInputs* inputs;
  DRL_HD void operator()(int64_t) const {
    PpoNumbers& x = *numbers;
    const double unbiased = sums[0] > 1 ? sums[0] / (sums[0] - 1) : 1;  // as torch.std
    const double deviation = math::sqrt_double(variance(sums[0], sums[1], sums[2]) * unbiased);
    x.loss.advantage_mean = static_cast<float>(sums[1] / sums[0]);
    x.loss.advantage_inv_std = static_cast<float>(1 / (deviation + 1e-8));
    if (inputs->learning_rate == inputs->learning_rate) x.learning_rate = inputs->learning_rate;
    x.iteration = inputs->iteration;
    x.round = 0;
    x.bad_gradient = 0;
    for (double& sum : x.sums) sum = 0;
    x.n = 0;
    x.gradient_norm = 0;
  }
};

// This rank's samples of the next mini-batch, indices into the rollout [T * N].
struct MiniBatchRows {
  BatchPlan plan;
  uint64_t seed;
  const PpoNumbers* numbers;
  int32_t* rows;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const int64_t per_shard = plan.rows_per_shard(), local = i / per_shard;
    if constexpr (1 < kLanesOf<F>) {
      if ((local + 1) * per_shard < i + kLanesOf<F>) {  // of two shards
        for (int l = 0; l < kLanesOf<F>; ++l) lanes<Scalar<F>>(i + l);
        return;
      }
    }
    const auto round = static_cast<uint32_t>(numbers->round), batches = static_cast<uint32_t>(plan.num_mini_batches);
    const uint64_t shard = static_cast<uint64_t>(plan.rank * static_cast<int64_t>(plan.local_shards()) + local);
    const Permutation permutation(seed, static_cast<uint64_t>(numbers->iteration), round / batches, shard,
                                  static_cast<uint32_t>(plan.samples_per_shard()));
    const int64_t first = round % batches * per_shard + i % per_shard;
    const Bits<F> samples = permutation(Bits<F>(static_cast<uint32_t>(first)) + lane_numbers<Bits<F>>());
    store(rows + i, bit_cast<Int<F>>(plan.rollout_rows(samples, local * plan.envs_per_shard())));
  }
};

// loss = max(-A ratio, -A clip(ratio, 1 +- clip_param)) + c_v max((v - R)^2, (v_clipped - R)^2) - c_e entropy
// (Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, eq. 7 and 9; value clipping and the
// missing 1/2 as in rsl_rl) of a tile of samples, and its gradient with respect to the networks' outputs. Adds to the
// sums of LossColumn, and behind them those of the distribution's own parameters.
template <class Policy>
struct PpoLoss {
  Policy policy;
  RolloutView r;
  const LossSettings* settings;
  const int32_t* rows;              // [B] samples of the rollout
  const float *policy_out, *value;  // [B, out_size], [B]
  float *d_policy, *d_value;        // the same, written

  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const LossSettings s = *settings;
    const Int<F> row = load<Int<F>>(rows + i);
    const auto* action = reinterpret_cast<const typename Policy::Action*>(r.action);
    const Evaluated<F> e = policy.template evaluate<F>(policy_out, r.policy_out, action, i, row, d_policy);

    const F advantage = (gather<F>(r.advantage, row) - F(s.advantage_mean)) * F(s.advantage_inv_std);
    const F ratio = math::exp(e.log_prob - gather<F>(r.log_prob, row));
    const F limited = math::clamp(ratio, F(1.0f - s.clip_param), F(1.0f + s.clip_param));
    const F plain = -advantage * ratio, clipped = -advantage * limited;
    const F d_log_prob = math::select(plain >= clipped, plain, F(0));  // d ratio / d log_prob = ratio
    policy.template gradient<F>(policy_out, action, i, row, e, d_log_prob, s.entropy_coef, d_policy, sums,
                                kLossColumns);

    const F v = load<F>(value + i), old_value = gather<F>(r.value, row), target = gather<F>(r.return_target, row);
    const F change = v - old_value, change_limited = math::clamp(change, F(-s.value_clip), F(s.value_clip));
    const F error = v - target, clipped_error = old_value + change_limited - target;
    const F squared = error * error, clipped_squared = clipped_error * clipped_error;
    const Mask<F> is_plain = (squared >= clipped_squared) | (change == change_limited);
    store(d_value + i, math::select(is_plain, F(2.0f * s.value_loss_coef) * error, F(0)));

    sums.add(kKl, e.kl);
    sums.add(kSurrogate, math::max(plain, clipped));
    sums.add(kValue, math::max(squared, clipped_squared));
    sums.add(kEntropy, e.entropy);
    sums.add(kClipped, math::select(ratio == limited, F(0), F(1)));
  }
};

// Writes a mini-batch's sums where they travel: the tail, and the gradient of the distribution's parameters.
struct StoreLoss {
  float n, *tail, *d_free;
  DRL_HD void operator()(int column, double sum) const {
    if (column == 0) tail[0] = n;
    if (column < kLossColumns) {
      tail[1 + column] = static_cast<float>(sum);
    } else {
      d_free[column - kLossColumns] = static_cast<float>(sum);
    }
  }
};

// The gradient's sum over samples as a mean.
template <class F>
DRL_HD F mean_gradient(const float* gradient, const float* tail, int64_t i) {
  return load<F>(gradient + i) * F(static_cast<float>(1 / static_cast<double>(tail[0])));
}

// Squares of the mean gradient, the actor's and the critic's apart.
struct GradientSquares {
  const float *gradient, *tail;
  int64_t first_critic;
  template <class F>
  DRL_HD Wide<F> at(int64_t i, int column) const {
    const F g = mean_gradient<F>(gradient, tail, i), of_actor = math::select(below<F>(i, first_critic), g, F(0));
    const Wide<F> x = convert<Wide<F>>(column == 0 ? of_actor : g - of_actor);
    return x * x;
  }
};

// What an Adam step needs beside the gradient: learning rate, clipping, corrections.
struct SettleStep {
  PpoNumbers* numbers;
  const float* tail;
  bool adaptive;
  double desired_kl, max_grad_norm, adam_eps;
  DRL_HD void operator()(int64_t) const {
    PpoNumbers& x = *numbers;
    const double n = static_cast<double>(tail[0]), kl = static_cast<double>(tail[1 + kKl]);
    // On the first mini-batch the policy is still the old one: its KL is rounding noise.
    if (adaptive && x.round > 0) x.learning_rate = adapted_learning_rate(x.learning_rate, kl / n, desired_kl);
    const double both = x.squared_norms[0] + x.squared_norms[1];
    if (!(both - both == 0)) x.bad_gradient = 1;  // NaN or infinite
    for (int part = 0; part < 2; ++part) {
      const double norm = math::sqrt_double(x.squared_norms[part]);
      x.clip[part] = math::min(1.0f, static_cast<float>(max_grad_norm / (norm + 1e-6)));
    }
    x.adam_steps += 1;
    x.adam = AdamScale::at(x.adam_steps, x.learning_rate, adam_eps);
    x.gradient_norm += math::sqrt_double(both);
    x.n += n;
    for (int column = 0; column < kLossColumns; ++column) x.sums[column] += static_cast<double>(tail[1 + column]);
    x.round += 1;
  }
};

// Clips the gradient, takes Adam's step, and keeps standard deviations' parameters within bounds, without stopping
// their gradient there.
struct AdamStep {
  const PpoNumbers* numbers;
  const float *gradient, *tail;
  float *params, *m, *v;
  int64_t first_critic, std_begin, std_end;
  float std_low, std_high;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if (numbers->bad_gradient) return;
    const F clip = math::select(below<F>(i, first_critic), F(numbers->clip[0]), F(numbers->clip[1]));
    F p = load<F>(params + i), first = load<F>(m + i), second = load<F>(v + i);
    numbers->adam.update(p, mean_gradient<F>(gradient, tail, i) * clip, first, second);
    if (i < std_end && std_begin < i + kLanesOf<F>) {
      const Mask<F> of_std = below<F>(i, std_end) & !below<F>(i, std_begin);
      p = math::select(of_std, math::clamp(p, F(std_low), F(std_high)), p);
    }
    store(params + i, p);
    store(m + i, first);
    store(v + i, second);
  }
};

}  // namespace drl
