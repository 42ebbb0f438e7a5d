// The choice of the networks' backend on CPUs.
#pragma once

#include <memory>
#include <string>

#include "nets/nets.hpp"

namespace drl {

// Creates networks that compute on `threads` threads. `which` is
//   "fused": drl's own kernels,
//   "torch": libtorch's matrix products,
//   "auto": fused if `queue`'s instruction set has multiply-adds or drl was built without libtorch, else torch. This is
//   a fixed rule instead of a measurement, so that a resumed run computes the same numbers.
// Precision "bf16" exists for fused networks only (make_fused_nets), and "auto" is bf16 where this is so and it is fast.
// "fp16" and "tf32", those of GPUs, compute in float32. Throws UsageError for impossible combinations, and if libtorch is needed but cannot be used.
std::unique_ptr<Nets> make_host_nets(Queue& queue, ParamLayout layout, const std::string& which, int threads,
                                     const std::string& precision = "fp32");

}  // namespace drl
