// PPO's loss in the fused engine of GPUs (nets/gpu_fused). Each unit that includes this compiles the kernels for one
// precision.
#pragma once

#include "algorithms/ppo/ppo_kernels.hpp"
#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_gradient.hpp"

namespace drl {

// The parts of the loss that need the outputs of the actor, and those of the critic.
template <class Policy>
struct PpoActorPart {
  static constexpr bool kOfCritic = false;
  PpoPolicyLoss<Policy> loss;
  explicit PpoActorPart(const PpoLoss<Policy>& all) : loss{all.policy, all.r, all.settings, {}, all.columns} {}
  template <class Sums>
  DRL_HD void operator()(int64_t i, const int32_t* rows, float* out, float* d_out, Sums& sums) const {
    PpoPolicyLoss<Policy> of_tile = loss;
    of_tile.tile.rows = rows, of_tile.tile.policy_out = out, of_tile.tile.d_policy = d_out;
    of_tile.template lanes<float>(i, sums);
  }
};
struct PpoCriticPart {
  static constexpr bool kOfCritic = true;
  PpoValueLoss loss;
  template <class Policy>
  explicit PpoCriticPart(const PpoLoss<Policy>& all) : loss{all.r, all.settings} {}
  template <class Sums>
  DRL_HD void operator()(int64_t i, const int32_t* rows, float* out, float* d_out, Sums& sums) const {
    PpoValueLoss of_tile = loss;
    of_tile.tile.rows = rows, of_tile.tile.value = out, of_tile.tile.d_value = d_out;
    of_tile.lanes<float>(i, sums);
  }
};

template <int kWidth, class Factors>
bool add_fused_ppo(FusedPrecision precision) {
  for_each_distribution([&]<class Policy>() {
    if constexpr (Policy::kFusedOnGpu) {
      add_fused_gradient<kWidth, Factors, PpoLoss<Policy>, PpoActorPart<Policy>>(precision, "ppo",
                                                                                 kDistributionId<Policy>);
      add_fused_gradient<kWidth, Factors, PpoLoss<Policy>, PpoCriticPart>(precision, "ppo", kDistributionId<Policy>);
    }
  });
  return true;
}

}  // namespace drl
