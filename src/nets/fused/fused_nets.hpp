// Networks on CPU cores without a matrix library: each layer's product, activation and way back in one go.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// For networks without layer norm, on `threads` threads, whose number changes no bit. Rows stay in the second cache on
// their way through the layers, blocks of them in registers. `queue` is the host's.
std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads);

}  // namespace drl
