// Networks on a CPU core without a matrix library: each layer's product, activation and way back in one go.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// One thread. Tiles of rows stay in the second cache, blocks of them in registers. `queue` is the host's.
std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout);

}  // namespace drl
