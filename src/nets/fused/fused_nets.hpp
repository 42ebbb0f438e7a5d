// Networks on CPU cores without a matrix library: each layer's product, activation and way back in one go.
#pragma once

#include <memory>

#include "nets/nets.hpp"

namespace drl {

// On `threads` threads, whose number changes no bit. Rows stay in the second cache on their way through the layers,
// blocks of them in registers. `queue` is the host's.
// With `bf16` the products are of numbers rounded to bfloat16, faster where the CPU has AVX512_BF16, but for last
// layers of few outputs; weights, sums, activations, layer norm and gradients stay float.
std::unique_ptr<Nets> make_fused_nets(Queue& queue, ParamLayout layout, int threads, bool bf16 = false);

}  // namespace drl
