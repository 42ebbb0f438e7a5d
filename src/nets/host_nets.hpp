// Which networks a CPU computes with.
#pragma once

#include <memory>
#include <string>

#include "nets/nets.hpp"

namespace drl {

// "fused": our own kernels. "torch": libtorch's matrix products. "auto": the first where `queue`'s instruction set has
// multiply-adds, and in a build without libtorch; a rule, not a measurement, so that a run that goes on does so with
// the same numbers. On `threads` threads. Precision "bf16" is for the first alone (make_fused_nets). Throws UsageError
// for what cannot be.
std::unique_ptr<Nets> make_host_nets(Queue& queue, ParamLayout layout, const std::string& which, int threads,
                                     const std::string& precision = "fp32");

}  // namespace drl
