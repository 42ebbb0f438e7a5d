// Networks on CPUs without a matrix library. Each layer's product is fused with its activation, forward and backward.
#pragma once

#include <memory>

#include "device/isa.hpp"
#include "nets/nets.hpp"

namespace drl {

// Creates fused networks on `threads` threads; results do not depend on the number of threads. Rows stay in the L2
// cache while they pass through the layers, and the sums of a block of rows stay in registers. `queue` must be a host
// queue. With `bf16`, products read copies of their factors that are rounded to bfloat16, which is faster on CPUs with
// AVX512_BF16. All else stays float: the parameters and their gradients, sums, activations, layer norm, and a last
// layer with few outputs.
std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads, bool bf16 = false);

// Returns whether products of bfloat16 are faster than those of float with `isa` on this CPU.
bool has_fast_bf16(Isa isa);

}  // namespace drl
