// Networks on libtorch's matrix products, for CPUs.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// Matrix products by libtorch on `threads` threads, forward and backward written out layer by layer, in tiles that stay
// in the second cache, without an autograd graph. `queue` is the host's.
std::unique_ptr<Nets> make_torch_nets(Queue& queue, ParamLayout layout, int threads);

}  // namespace drl
