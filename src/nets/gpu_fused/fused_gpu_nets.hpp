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

// Creates networks on the GPU of `queue`. For losses whose gradient the fused engine can compute, it computes this
// gradient (Nets::gradient) and all passes without a tape. Everything else goes to the layer-wise networks
// (nets/gpu/gpu_nets.hpp), and so does everything if the engine does not know the loss (Nets::use_loss) or a network.
std::unique_ptr<Nets> make_fused_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, FusedPrecision precision);

}  // namespace drl
