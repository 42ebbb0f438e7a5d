// GRPO's loss in the fused engine of GPUs (nets/gpu_fused). CMake writes a unit for each precision.
#pragma once

#include <functional>

#include "algorithms/grpo/grpo_kernels.hpp"
#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_gradient.hpp"

namespace drl {

template <class Factors>
bool add_fused_grpo() {
  for_each_distribution([&]<class Policy>() {
    if constexpr (Policy::kFusedOnGpu)
      add_fused_gradients<Factors, GrpoLoss<Policy>, std::identity{}, false>("grpo", kDistributionId<Policy>);
  });
  return true;
}

}  // namespace drl
