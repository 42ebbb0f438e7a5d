// What on-policy algorithms do in an iteration beside their losses, as function objects.
#pragma once

#include <cstdint>

#include "algorithms/algorithm_kernels.hpp"
#include "algorithms/batch_plan.hpp"
#include "device/reduce.hpp"
#include "drl/math.hpp"
#include "nets/batch.hpp"

namespace drl {

// A loss's sums over a mini-batch's samples ride behind the gradient in its all-reduce, as float32. The first two are
// those of every loss: the number of samples, and KL(old || new).
inline constexpr int kSamples = 0, kKl = 1, kMaxLossColumns = 8;

// What one mini-batch hands to the next, and the iteration to the host.
struct UpdateNumbers {
  int64_t lifetime_step;  // of the environments, at the rollout's row 0
  int64_t adam_steps;
  double learning_rate;
  int64_t iteration;
  int32_t round;  // mini-batches done in this iteration
  int32_t bad_gradient;
  AdamScale adam;
  double squared_norms[2];       // of the gradient: actor, critic
  float clip[2];                 // what they are multiplied by
  double sums[kMaxLossColumns];  // over the iteration's mini-batches
  double gradient_norm;
};

// What the host tells an iteration.
struct UpdateInputs {
  int64_t iteration;
  double learning_rate;  // NaN: it stays as it is
};

// The adaptive rule: mean KL above twice the desired one divides by 1.5 (to 1e-5 at least), below half of it multiplies
// by 1.5 (to 1e-2 at most); a rate beyond these stays.
DRL_HD double adapted_learning_rate(double learning_rate, double kl, double desired_kl) {
  if (kl > 2 * desired_kl) return math::min(learning_rate, math::max(1e-5, learning_rate / 1.5));
  if (kl < desired_kl / 2 && kl > 0) return math::max(learning_rate, math::min(1e-2, learning_rate * 1.5));
  return learning_rate;
}

struct BeginUpdate {
  UpdateNumbers* numbers;
  const UpdateInputs* inputs;
  int64_t num_steps;  // that were collected
  DRL_HD void operator()(int64_t) const {
    UpdateNumbers& x = *numbers;
    x.lifetime_step += num_steps;
    if (inputs->learning_rate == inputs->learning_rate) x.learning_rate = inputs->learning_rate;
    x.iteration = inputs->iteration;
    x.round = 0;
    x.bad_gradient = 0;
    for (double& sum : x.sums) sum = 0;
    x.gradient_norm = 0;
  }
};

// This rank's samples of the mini-batches of an iteration, indices into the rollout [T * N].
struct MiniBatches {
  BatchPlan plan;
  uint64_t seed;

  // Those of a mini-batch in one of this rank's shards.
  struct OfShard {
    Permutation permutation;
    int64_t first, first_env;  // sample and environment
    // From its i-th on.
    template <class F>
    DRL_HD Int<F> rows(const BatchPlan& plan, int64_t i) const {
      const Bits<F> samples = permutation(Bits<F>(static_cast<uint32_t>(first + i)) + lane_numbers<Bits<F>>());
      return bit_cast<Int<F>>(plan.rollout_rows(samples, first_env));
    }
  };
  DRL_HD OfShard of_shard(int64_t iteration, uint32_t round, int64_t local) const {
    const auto batches = static_cast<uint32_t>(plan.num_mini_batches);
    const uint64_t shard = static_cast<uint64_t>(plan.rank * static_cast<int64_t>(plan.local_shards()) + local);
    return {Permutation(seed, static_cast<uint64_t>(iteration), round / batches, shard,
                        static_cast<uint32_t>(plan.samples_per_shard())),
            round % batches * plan.rows_per_shard(), local * plan.envs_per_shard()};
  }
  // Those of mini-batch number `round`, from its i-th on.
  template <class F>
  DRL_HD Int<F> rows(int64_t iteration, uint32_t round, int64_t i) const {
    const int64_t per_shard = plan.rows_per_shard(), local = i / per_shard;
    if constexpr (1 < kLanesOf<F>) {
      if ((local + 1) * per_shard < i + kLanesOf<F>) {  // of two shards
        int32_t each[kLanesOf<F>];
        for (int l = 0; l < kLanesOf<F>; ++l) each[l] = rows<Scalar<F>>(iteration, round, i + l);
        return load<Int<F>>(each);
      }
    }
    return of_shard(iteration, round, local).template rows<F>(plan, i % per_shard);
  }
};

// Those of the next one.
struct MiniBatchRows {
  MiniBatches batches;
  const UpdateNumbers* numbers;
  int32_t* rows;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(rows + i, batches.rows<F>(numbers->iteration, static_cast<uint32_t>(numbers->round), i));
  }
  // The same shard by shard, whose permutation is made once.
  template <class F>
  DRL_HD int64_t many(int64_t i, int64_t end) const {
    const int64_t per_shard = batches.plan.rows_per_shard();
    while (i < end) {
      const int64_t local = i / per_shard, begin = local * per_shard,
                    bound = begin + per_shard < end ? begin + per_shard : end;
      const auto of_shard = batches.of_shard(numbers->iteration, static_cast<uint32_t>(numbers->round), local);
      for (; i + kLanesOf<F> <= bound; i += kLanesOf<F>)
        store(rows + i, of_shard.template rows<F>(batches.plan, i - begin));
      for (; i < bound; ++i) store(rows + i, of_shard.template rows<Scalar<F>>(batches.plan, i - begin));
    }
    return i;
  }
};

// Writes a mini-batch's sums where they travel: the tail, and the gradient of the distribution's parameters.
struct StoreLoss {
  int columns;  // of the loss
  float *tail, *d_free;
  DRL_HD void operator()(int column, double sum) const {
    (column < columns ? tail[column] : d_free[column - columns]) = static_cast<float>(sum);
  }
};

// The gradient's sum over samples as a mean; 0 of none, as a mini-batch of GRPO may have where episodes are short.
template <class F>
DRL_HD F mean_gradient(const float* gradient, const float* tail, int64_t i) {
  return load<F>(gradient + i) * F(static_cast<float>(1 / math::max(static_cast<double>(tail[kSamples]), 1.0)));
}

// Squares of the mean gradient, the actor's and the critic's apart.
struct GradientSquares {
  static constexpr int kColumns = 2;
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
  UpdateNumbers* numbers;
  const float* tail;
  int columns;  // of it
  bool adaptive, joint;
  double desired_kl, max_grad_norm, adam_eps;
  DRL_HD void operator()(int64_t) const {
    UpdateNumbers& x = *numbers;
    const double n = static_cast<double>(tail[kSamples]), kl = static_cast<double>(tail[kKl]);
    // On the first mini-batch the policy is still the old one: its KL is rounding noise.
    if (adaptive && x.round > 0) x.learning_rate = adapted_learning_rate(x.learning_rate, kl / n, desired_kl);
    const double both = x.squared_norms[0] + x.squared_norms[1];
    if (!(both - both == 0)) x.bad_gradient = 1;  // NaN or infinite
    for (int part = 0; part < 2; ++part) {
      const double norm = math::sqrt_double(joint ? both : x.squared_norms[part]);
      x.clip[part] = math::min(1.0f, static_cast<float>(max_grad_norm / (norm + 1e-6)));
    }
    x.adam_steps += 1;
    x.adam = AdamScale::at(x.adam_steps, x.learning_rate, adam_eps);
    x.gradient_norm += math::sqrt_double(both);
    for (int column = 0; column < columns; ++column) x.sums[column] += static_cast<double>(tail[column]);
    x.round += 1;
  }
};

// Clips the gradient, takes Adam's step, and keeps standard deviations' parameters within bounds, without stopping
// their gradient there.
struct AdamStep {
  const UpdateNumbers* numbers;
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
