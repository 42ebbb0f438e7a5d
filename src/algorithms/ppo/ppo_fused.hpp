// PPO's loss in the fused engine of GPUs (nets/gpu_fused). CMake writes a unit for each precision.
#pragma once

#include "algorithms/ppo/ppo_kernels.hpp"
#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_gradient.hpp"

namespace drl {

template <class Factors>
bool add_fused_ppo() {
  for_each_distribution([&]<class Policy>() {
    if constexpr (Policy::kFusedOnGpu) {
      using Loss = PpoLoss<Policy>;
      add_fused_gradients<Factors, Loss, &Loss::policy_loss, false>("ppo", kDistributionId<Policy>);
      add_fused_gradients<Factors, Loss, &Loss::value_loss, true>("ppo", kDistributionId<Policy>);
    }
  });
  return true;
}

}  // namespace drl
