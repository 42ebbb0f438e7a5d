// Networks on CPUs without a matrix library. Each layer's product is fused with its activation, forward and backward.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// Creates fused networks on `threads` threads; results do not depend on the number of threads. Rows stay in the L2
// cache while they pass through the layers, and blocks of them in registers. `queue` must be a host queue. With `bf16`,
// the factors of products are rounded to bfloat16, which is faster on CPUs with AVX512_BF16. Last layers with few
// outputs, weights, sums, activations, layer norm and gradients stay float.
std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads, bool bf16 = false);

}  // namespace drl
