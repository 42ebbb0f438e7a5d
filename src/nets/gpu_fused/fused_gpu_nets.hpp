// Networks on GPUs by the fused engine (nets/gpu_fused/fused_plan.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nets/gpu_fused/fused_gradient.hpp"
#include "nets/nets.hpp"

namespace drl {

// Plans a network for blocks with `shared` bytes of shared memory. Returns none and sets `reason` if the engine cannot
// compute the network: "it has layer norm".
std::optional<FusedPlan> plan_fused(const ParamLayout& layout, NetId net, FusedPrecision precision, size_t shared,
                                    std::string& reason);

// Creates networks on the GPU of `queue`. The fused engine computes the gradient of a loss (Nets::gradient) and all
// passes without a tape, if it supports this loss (Nets::use_loss) and all of the networks. The layer-wise networks
// (nets/gpu/gpu_nets.hpp) compute the rest, or everything if the engine does not support one of these.
std::unique_ptr<Nets> make_fused_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, FusedPrecision precision);

}  // namespace drl
