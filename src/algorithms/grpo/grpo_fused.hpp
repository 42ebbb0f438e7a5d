// GRPO's loss in the fused engine of GPUs (nets/gpu_fused). Each unit that includes this compiles the kernels for one
// precision.
#pragma once

#include "algorithms/grpo/grpo_kernels.hpp"
#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_gradient.hpp"

namespace drl {

template <class Policy>
struct GrpoPart {
  static constexpr bool kOfCritic = false;
  GrpoLoss<Policy> loss;
  explicit GrpoPart(const GrpoLoss<Policy>& all) : loss(all) {}
  template <class Sums>
  DRL_HD void operator()(int64_t i, const int32_t* rows, float* out, float* d_out, Sums& sums) const {
    GrpoLoss<Policy> of_tile = loss;
    of_tile.tile.rows = rows, of_tile.tile.policy_out = out, of_tile.tile.d_policy = d_out;
    of_tile.template lanes<float>(i, sums);
  }
};

template <int kWidth, class Factors>
bool add_fused_grpo(FusedPrecision precision) {
  for_each_distribution([&]<class Policy>() {
    if constexpr (Policy::kFusedOnGpu) {
      add_fused_gradient<kWidth, Factors, GrpoLoss<Policy>, GrpoPart<Policy>>(precision, "grpo",
                                                                              kDistributionId<Policy>);
    }
  });
  return true;
}

}  // namespace drl
