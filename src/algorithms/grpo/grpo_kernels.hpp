// The kernels of GRPO.
#pragma once

#include <cstdint>

#include "algorithms/update_kernels.hpp"

namespace drl {

// Computes return and length of each environment's first episode in the rollout. Later steps are not used for learning.
struct FirstEpisodes {
  RolloutView r;
  float* total;     // [N]
  int32_t* length;  // [N]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    F sum = F(0);
    Int<F> steps = Int<F>(0);
    Mask<F> plays = F(0) == F(0);
    for (int64_t t = 0; t < r.num_steps && any(plays); ++t) {
      const int64_t row = t * r.num_envs + i;
      sum = math::select(plays, sum + load<F>(r.reward + row), sum);
      steps = math::select(plays, steps + Int<F>(1), steps);
      plays = plays & (load<Int<F>>(r.terminated + row) == Int<F>(0)) & (load<Int<F>>(r.truncated + row) == Int<F>(0));
    }
    store(total + i, sum);
    store(length + i, steps);
  }
};

// Computes the advantages of a group's episodes: (return - mean of the group) / (standard deviation of the group +
// 1e-4). All steps of an episode have the same advantage. The standard deviation is unbiased, as in torch.std.
struct GroupAdvantages {
  static constexpr double kEpsilon = 1e-4;
  int64_t group_size;
  const float* total;  // [N]
  float* advantage;    // [N]
  double* deviation;   // [groups]
  DRL_HD void operator()(int64_t group) const {
    const double n = static_cast<double>(group_size);
    const int64_t first = group * group_size;
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < group_size; ++k) sum += static_cast<double>(total[first + k]);
    for (int64_t k = 0; k < group_size; ++k) {
      const double d = static_cast<double>(total[first + k]) - sum / n;
      squares += d * d;
    }
    deviation[group] = math::sqrt_double(squares / (n - 1));
    for (int64_t k = 0; k < group_size; ++k)
      advantage[first + k] =
          static_cast<float>((static_cast<double>(total[first + k]) - sum / n) / (deviation[group] + kEpsilon));
  }
};

// Columns: number of groups, sum of their standard deviations, and number of groups whose returns are all equal.
struct GroupColumns {
  const double* deviation;
  template <class F>
  DRL_HD Wide<F> at(int64_t group, int column) const {
    const Wide<F> x = load<Wide<F>>(deviation + group), one = Wide<F>(1);
    return column == 0 ? one : column == 1 ? x : math::select(x == Wide<F>(0), one, Wide<F>(0));
  }
};

// Computes the log-probabilities of the rollout's actions, from sample `first` on, under another policy.
template <class Policy>
struct LogProbs {
  Policy policy;
  RolloutView r;
  int64_t first;
  const float* out;  // [B, out_size], outputs of that policy
  float* scratch;    // [B, out_size]
  float* log_prob;   // [T, N]
  template <class F>
  DRL_HD void lanes(int64_t i) const {
    const Int<F> row = Int<F>(static_cast<int32_t>(first + i)) + lane_numbers<Int<F>>();
    const auto* action = reinterpret_cast<const typename Policy::Action*>(r.action);
    store(log_prob + first + i, policy.template evaluate<F>(out, r.policy_out, action, i, row, scratch).log_prob);
  }
};

struct GrpoSettings {
  float clip_param, kl_coef;
};

// Columns of GRPO's loss, after those that every loss has.
struct GrpoColumn {
  enum : int { surrogate = kKl + 1, entropy, clipped, reference_kl, count };
};

// loss = max(-A ratio, -A clip(ratio, 1 +- clip_param)) + c_kl KL(policy || reference) - c_e entropy
// (Shao et al., "DeepSeekMath", arXiv:2402.03300, eq. 3). Computes it for a tile of samples, with its gradient with
// respect to the network's outputs. The KL divergence is estimated by r - 1 - log r, where r = p_reference / p (eq. 4;
// Schulman, "Approximating KL Divergence", 2020). Samples after the end of the first episode have weight 0.
template <class Policy>
struct GrpoLoss {
  Policy policy;
  RolloutView r;
  GrpoSettings s;
  const UpdateInputs* inputs;       // the weight of the entropy
  const float* advantage;           // [N]
  const int32_t* length;            // [N]
  const float* reference_log_prob;  // [T, N]; the old policy's if kl_coef is 0
  LossTile tile = {};

  template <class F, class Sums>
  DRL_HD void lanes(int64_t i, Sums& sums) const {
    const Int<F> row = load<Int<F>>(tile.rows + i);
    const auto envs = static_cast<uint32_t>(r.num_envs);
    const Bits<F> sample = bit_cast<Bits<F>>(row), step = quotient(sample, envs);
    const Int<F> env = bit_cast<Int<F>>(sample - step * Bits<F>(envs));
    const Mask<F> played = bit_cast<Int<F>>(step) < gather<Int<F>>(length, env);
    const auto if_played = [&](F x) DRL_LAMBDA { return math::select(played, x, F(0)); };
    const auto* action = reinterpret_cast<const typename Policy::Action*>(r.action);
    // These come first, so that a GPU waits for all loads at once.
    const F a = gather<F>(advantage, env), old_log_prob = gather<F>(r.log_prob, row),
            reference = gather<F>(reference_log_prob, row);
    const Evaluated<F> e = policy.template evaluate<F>(tile.policy_out, r.policy_out, action, i, row, tile.d_policy);

    const F ratio = fast_exp(e.log_prob - old_log_prob);
    const F clipped_ratio = math::clamp(ratio, F(1.0f - s.clip_param), F(1.0f + s.clip_param));
    const F surrogate = -a * ratio, clipped_surrogate = -a * clipped_ratio;
    const F log_r = reference - e.log_prob, reference_ratio = fast_exp(log_r);
    const F d_log_prob =
        math::select(surrogate >= clipped_surrogate, surrogate, F(0)) + F(s.kl_coef) * (F(1) - reference_ratio);
    policy.template gradient<F>(tile.policy_out, action, i, row, e, if_played(d_log_prob),
                                if_played(F(inputs->entropy_coef)), tile.d_policy, sums, GrpoColumn::count);

    sums.add(kSamples, if_played(F(1)));
    sums.add(kKl, if_played(e.kl));
    sums.add(GrpoColumn::surrogate, if_played(math::max(surrogate, clipped_surrogate)));
    sums.add(GrpoColumn::entropy, if_played(e.entropy));
    sums.add(GrpoColumn::clipped, if_played(math::select(ratio == clipped_ratio, F(0), F(1))));
    sums.add(GrpoColumn::reference_kl, if_played(reference_ratio - F(1) - log_r));
  }
};

}  // namespace drl
