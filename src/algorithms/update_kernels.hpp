// Kernels of an update apart from the losses: mini-batches, learning rate, gradient clipping, Adam.
#pragma once

#include <cstdint>

#include "algorithms/algorithm_kernels.hpp"
#include "algorithms/batch_plan.hpp"
#include "device/reduce.hpp"
#include "drl/math.hpp"
#include "nets/batch.hpp"

namespace drl {

// Columns of a loss: sums over a mini-batch's samples. They follow the gradient in its all-reduce, as float32 (the
// "tail"). Every loss has the first two columns: the number of samples, and KL(old || new).
inline constexpr int kSamples = 0, kKl = 1, kMaxLossColumns = 8;

// An optimiser's parameters are divided into groups, which have their own learning rates and clipping.
inline constexpr int kMaxGroups = 4;

// An optimiser's numbers, which are passed from one mini-batch to the next, and to the host at the end of an iteration.
struct UpdateNumbers {
  int64_t optimizer_steps;
  double learning_rate;  // of the first group
  double desired_kl;     // of this iteration
  int64_t iteration;
  int32_t mini_batch;  // number of mini-batches finished in this iteration
  int32_t not_finite;  // g + 1: the gradient of group g was not finite, so no parameter changes in this iteration
  AdamScale adam;
  // Each array has a number for each group. `step_size` multiplies the gradient or its mean, `decay` the parameters
  // (AdamW), and `clip` the gradient, whose squared norm is in `squared_norms`.
  float step_size[kMaxGroups], decay[kMaxGroups];
  double squared_norms[kMaxGroups];
  float clip[kMaxGroups];
  float per_sample;              // the mean gradient is its sum times this
  double sums[kMaxLossColumns];  // the loss's columns, summed over the iteration's mini-batches
  double gradient_norm;          // summed over the iteration's mini-batches

  // Starts the mini-batches of an iteration.
  DRL_HD void restart() {
    mini_batch = not_finite = 0;
    for (double& sum : sums) sum = 0;
    gradient_norm = 0;
  }
};

// Starts an iteration's update with the learning rate of the iteration before.
struct RestartUpdate {
  UpdateNumbers* numbers;
  DRL_HD void operator()(int64_t) const { numbers->restart(); }
};

// Inputs of an iteration, written by the host.
struct UpdateInputs {
  int64_t iteration;
  double learning_rate;  // NaN: keep the current one
  double desired_kl;
  float entropy_coef;
};

// Returns the learning rate of the adaptive schedule. If the mean KL is above twice the desired one, the rate is
// divided by 1.5, but not below 1e-5; if it is below half of the desired one, the rate is multiplied by 1.5, but not
// above 1e-2. A rate that is already beyond these limits does not change in that direction.
DRL_HD double adapted_learning_rate(double learning_rate, double kl, double desired_kl) {
  if (kl > 2 * desired_kl) return math::min(learning_rate, math::max(1e-5, learning_rate / 1.5));
  if (kl < desired_kl / 2 && kl > 0) return math::max(learning_rate, math::min(1e-2, learning_rate * 1.5));
  return learning_rate;
}

// Starts an iteration's update: advances the lifetime step, takes the inputs, and clears the sums.
struct ResetUpdateNumbers {
  UpdateNumbers* numbers;
  const UpdateInputs* inputs;
  int64_t* lifetime_step;
  int64_t num_steps;  // of the collected rollout
  DRL_HD void operator()(int64_t) const {
    UpdateNumbers& x = *numbers;
    *lifetime_step += num_steps;
    if (inputs->learning_rate == inputs->learning_rate) x.learning_rate = inputs->learning_rate;
    x.iteration = inputs->iteration;
    x.desired_kl = inputs->desired_kl;
    x.restart();
  }
};

// Computes this rank's samples of each mini-batch, as indices into the rollout [T * N].
struct MiniBatches {
  BatchPlan plan;
  uint64_t seed;

  // The samples of one mini-batch in one of this rank's shards.
  struct ShardRows {
    Permutation permutation;
    int64_t first, first_env;  // first sample of the mini-batch, first environment of the shard
    // Returns samples i, i + 1, ..., one per lane of F, as indices into the rollout.
    template <class F>
    DRL_HD Int<F> rows(const BatchPlan& plan, int64_t i) const {
      const Bits<F> samples = permutation(Bits<F>(static_cast<uint32_t>(first + i)) + lane_numbers<Bits<F>>());
      return bit_cast<Int<F>>(plan.rollout_rows(samples, first_env));
    }
  };
  DRL_HD ShardRows shard_rows(int64_t iteration, uint32_t mini_batch, int64_t local) const {
    const auto batches = static_cast<uint32_t>(plan.num_mini_batches);
    const uint64_t shard = static_cast<uint64_t>(plan.rank * static_cast<int64_t>(plan.local_shards()) + local);
    return {Permutation(seed, static_cast<uint64_t>(iteration), mini_batch / batches, shard,
                        static_cast<uint32_t>(plan.samples_per_shard())),
            mini_batch % batches * plan.rows_per_shard(), local * plan.envs_per_shard()};
  }
  // With plan.sequences: returns environment number i of mini-batch number `mini_batch` of the iteration.
  DRL_HD int64_t sequence(int64_t iteration, uint32_t mini_batch, int64_t i) const {
    const auto batches = static_cast<uint32_t>(plan.num_mini_batches);
    const int64_t envs = plan.envs_per_shard(), per_shard = envs / batches, local = i / per_shard;
    const uint64_t shard = static_cast<uint64_t>(plan.rank * static_cast<int64_t>(plan.local_shards()) + local);
    const Permutation permutation(seed, static_cast<uint64_t>(iteration), mini_batch / batches, shard,
                                  static_cast<uint32_t>(envs));
    const auto at = static_cast<uint32_t>(mini_batch % batches * per_shard + i % per_shard);
    return local * envs + static_cast<int64_t>(permutation(at));
  }
  // Returns samples i, i + 1, ... of mini-batch number `mini_batch` of the iteration.
  template <class F>
  DRL_HD Int<F> rows(int64_t iteration, uint32_t mini_batch, int64_t i) const {
    if (plan.sequences) {  // step after step
      int32_t each[kLanesOf<F>];
      const int64_t sequences = plan.rows() / plan.num_steps;
      for (int l = 0; l < kLanesOf<F>; ++l)
        each[l] = static_cast<int32_t>((i + l) / sequences * plan.num_envs +
                                       sequence(iteration, mini_batch, (i + l) % sequences));
      return load<Int<F>>(each);
    }
    const int64_t per_shard = plan.rows_per_shard(), local = i / per_shard;
    if constexpr (1 < kLanesOf<F>) {
      if ((local + 1) * per_shard < i + kLanesOf<F>) {  // the lanes belong to two shards
        int32_t each[kLanesOf<F>];
        for (int l = 0; l < kLanesOf<F>; ++l) each[l] = rows<Scalar<F>>(iteration, mini_batch, i + l);
        return load<Int<F>>(each);
      }
    }
    return shard_rows(iteration, mini_batch, local).template rows<F>(plan, i % per_shard);
  }
};

// Writes the samples of the next mini-batch to `rows`.
struct MiniBatchRows {
  MiniBatches batches;
  const UpdateNumbers* numbers;
  int32_t* rows;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    store(rows + i, batches.rows<F>(numbers->iteration, static_cast<uint32_t>(numbers->mini_batch), i));
  }
  // Does the same for indices i to end - 1, and constructs each shard's permutation only once.
  template <class F>
  DRL_HD int64_t many(int64_t i, int64_t end) const {
    const int64_t per_shard = batches.plan.rows_per_shard();
    while (i < end) {
      const int64_t local = i / per_shard, begin = local * per_shard,
                    bound = begin + per_shard < end ? begin + per_shard : end;
      const auto shard_rows = batches.shard_rows(numbers->iteration, static_cast<uint32_t>(numbers->mini_batch), local);
      for (; i + kLanesOf<F> <= bound; i += kLanesOf<F>)
        store(rows + i, shard_rows.template rows<F>(batches.plan, i - begin));
      for (; i < bound; ++i) store(rows + i, shard_rows.template rows<Scalar<F>>(batches.plan, i - begin));
    }
    return i;
  }
};

// Does the same for plan.sequences: writes all samples of environment number i of the mini-batch, step after step.
struct SequenceRows {
  MiniBatches batches;
  const UpdateNumbers* numbers;
  int32_t* rows;  // [T, sequences]
  DRL_HD void operator()(int64_t i) const {
    const BatchPlan& plan = batches.plan;
    const int64_t env = batches.sequence(numbers->iteration, static_cast<uint32_t>(numbers->mini_batch), i),
                  sequences = plan.rows() / plan.num_steps;
    for (int64_t t = 0; t < plan.num_steps; ++t)
      rows[t * sequences + i] = static_cast<int32_t>(t * plan.num_envs + env);
  }
};

// Writes a mini-batch's sums: the loss's columns to the tail, and the others to the gradient of the distribution's
// parameters.
struct StoreLoss {
  int columns;  // number of the loss's columns
  float *tail, *d_free;
  DRL_HD void operator()(int column, double sum) const {
    (column < columns ? tail[column] : d_free[column - columns]) = static_cast<float>(sum);
  }
};

// Returns the factor from a sum over samples to their mean. Without samples, the sum is 0, and so is the mean: a
// mini-batch of GRPO may have none if episodes are short.
DRL_HD float per_sample(const float* tail) {
  return static_cast<float>(1 / math::max(static_cast<double>(tail[kSamples]), 1.0));
}

// The ranges of the groups: group g has the parameters from end[g - 1], or 0, to end[g].
struct ParamGroups {
  int32_t count = 1;
  int64_t end[kMaxGroups] = {};

  DRL_HD int64_t begin(int group) const { return group == 0 ? 0 : end[group - 1]; }
  // Returns the number of each lane's group for the parameters i, i + 1, ...
  template <class F>
  DRL_HD F of(const float (&numbers)[kMaxGroups], int64_t i) const {
    int group = 0;
    while (group + 1 < count && end[group] <= i) ++group;
    F number = F(numbers[group]);
    for (; group + 1 < count && end[group] < i + kLanesOf<F>; ++group)
      number = math::select(below<F>(i, end[group]), number, F(numbers[group + 1]));
    return number;
  }
};

// Squares of the mean gradient, with a column for each group.
struct GradientSquares {
  static constexpr int kColumns = kMaxGroups;
  const float *gradient, *tail;
  ParamGroups groups;
  template <class F>
  DRL_HD Wide<F> at(int64_t i, int group) const {
    if (group >= groups.count) return Wide<F>(0);
    const int64_t begin = groups.begin(group), end = groups.end[group];
    if (end <= i || i + kLanesOf<F> <= begin) return Wide<F>(0);
    const F g = load<F>(gradient + i) * F(per_sample(tail));
    const Wide<F> x = convert<Wide<F>>(math::select(below<F>(i, end) & !below<F>(i, begin), g, F(0)));
    return x * x;
  }
};

enum class OptimizerType : int32_t { adam, adamw, sgd };

// How a group's learning rate follows that of the first group, which the schedule changes: it is the same, or changes
// by the same factor from its own initial rate, or is constant.
enum class GroupSchedule : int32_t { same, proportional, constant };

struct GroupRule {
  double learning_rate = 1e-3;  // initial rate
  double max_grad_norm = 1;
  GroupSchedule schedule = GroupSchedule::same;
};

// The optimiser, without what changes from step to step.
struct OptimizerRule {
  OptimizerType type = OptimizerType::adam;
  bool adaptive = false;    // the first group's learning rate follows the KL divergence
  bool joint_clip = false;  // clip all groups together
  double adam_eps = 1e-8;
  double weight_decay = 0;  // of AdamW
  double momentum = 0;      // of SGD
  int32_t num_groups = 1;
  GroupRule groups[kMaxGroups];

  // Returns a group's learning rate while that of the first one is `rate`.
  DRL_HD double rate_of(int group, double rate) const {
    const GroupRule& rule = groups[group];
    if (rule.schedule == GroupSchedule::same) return rate;
    if (rule.schedule == GroupSchedule::constant) return rule.learning_rate;
    return rule.learning_rate * (rate / groups[0].learning_rate);
  }
};

// Computes the inputs of an optimiser's step other than the gradient: the learning rates, the clipping factors and the
// bias corrections. Also adds the mini-batch's sums to those of the iteration.
struct PrepareStep {
  UpdateNumbers* numbers;
  const float* tail;
  int columns;  // of the tail
  OptimizerRule rule;
  DRL_HD void operator()(int64_t) const {
    UpdateNumbers& x = *numbers;
    const double n = static_cast<double>(tail[kSamples]), kl = static_cast<double>(tail[kKl]);
    // On the first mini-batch the policy is still the old one, and its KL is rounding noise.
    if (rule.adaptive && x.mini_batch > 0)
      x.learning_rate = adapted_learning_rate(x.learning_rate, kl / n, x.desired_kl);
    double all = 0;
    for (int g = 0; g < rule.num_groups; ++g) {
      const double squares = x.squared_norms[g];
      if (x.not_finite == 0 && !(squares - squares == 0)) x.not_finite = g + 1;  // NaN or infinite
      all += squares;
    }
    x.per_sample = per_sample(tail);
    x.optimizer_steps += 1;
    x.adam = AdamScale::at(x.optimizer_steps, rule.adam_eps);
    for (int g = 0; g < rule.num_groups; ++g) {
      const double norm = math::sqrt_double(rule.joint_clip ? all : x.squared_norms[g]);
      x.clip[g] = math::min(1.0f, static_cast<float>(rule.groups[g].max_grad_norm / (norm + 1e-6)));
      const double rate = rule.rate_of(g, x.learning_rate);
      x.step_size[g] =
          rule.type == OptimizerType::sgd ? static_cast<float>(rate) : AdamScale::step_size(x.optimizer_steps, rate);
      x.decay[g] = rule.type == OptimizerType::adamw ? static_cast<float>(1 - rate * rule.weight_decay) : 1.0f;
    }
    x.gradient_norm += math::sqrt_double(all);
    for (int column = 0; column < columns; ++column) x.sums[column] += static_cast<double>(tail[column]);
    x.mini_batch += 1;
  }
};

// Parameters that are kept in an interval, e.g. those of the standard deviation.
struct ParamBounds {
  int64_t begin = 0, end = 0;  // the parameters; none by default
  float low = 0, high = 0;
};

// The part that the steps of all optimisers share. A step clips the gradient, changes the parameters, and clamps those
// that have bounds. It does not zero the gradient at the bounds, and does nothing if the gradient is not finite.
struct StepTarget {
  const UpdateNumbers* numbers;
  const float* gradient;
  float* params;
  ParamGroups groups;
  ParamBounds bounds;

  template <class F>
  DRL_HD F clipped_gradient(int64_t i) const {
    return load<F>(gradient + i) * F(numbers->per_sample) * groups.of<F>(numbers->clip, i);
  }
  template <class F>
  DRL_HD void store_parameters(int64_t i, F p) const {
    if (i < bounds.end && bounds.begin < i + kLanesOf<F>) {
      const Mask<F> is_bounded = below<F>(i, bounds.end) & !below<F>(i, bounds.begin);
      p = math::select(is_bounded, math::clamp(p, F(bounds.low), F(bounds.high)), p);
    }
    store(params + i, p);
  }
};

// A step of Adam, or of AdamW, which first shrinks the parameters (Loshchilov and Hutter, "Decoupled Weight Decay
// Regularization", arXiv:1711.05101, algorithm 2, with the decay as in PyTorch: learning_rate * weight_decay).
struct AdamStep {
  StepTarget to;
  float *m, *v;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if (to.numbers->not_finite) return;
    F p = load<F>(to.params + i) * to.groups.of<F>(to.numbers->decay, i), first = load<F>(m + i),
      second = load<F>(v + i);
    to.numbers->adam.update(to.groups.of<F>(to.numbers->step_size, i), p, to.clipped_gradient<F>(i), first, second);
    to.store_parameters(i, p);
    store(m + i, first);
    store(v + i, second);
  }
};

// A step of stochastic gradient descent with momentum, as in PyTorch: b = momentum b + g, p = p - learning_rate b.
struct SgdStep {
  StepTarget to;
  float* b;
  float momentum;
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    if (to.numbers->not_finite) return;
    const F buffer = F(momentum) * load<F>(b + i) + to.clipped_gradient<F>(i);
    to.store_parameters(i, load<F>(to.params + i) - to.groups.of<F>(to.numbers->step_size, i) * buffer);
    store(b + i, buffer);
  }
};

}  // namespace drl
