// Networks for CPUs that use libtorch's matrix products.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// Creates networks whose matrix products libtorch computes on `threads` threads. Forward and backward passes work layer
// by layer, without autograd, in tiles that fit in the L2 cache. `queue` must be a host queue.
std::unique_ptr<Nets> make_torch_nets(Queue& queue, ParamLayout layout, int threads);

}  // namespace drl
