#include "nets/host_nets.hpp"

#include <utility>

#include "base/check.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_library.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {

std::unique_ptr<Nets> make_host_nets(Queue& queue, ParamLayout layout, const std::string& which, int threads,
                                     const std::string& precision) {
  const bool better = has_fused_multiply_add(queue.isa()) || !built_with_torch();
  const bool fused = which == "fused" || (which == "auto" && better);
  if (precision == "bf16" && !fused)
    throw UsageError("--precision bf16 needs fused networks, but libtorch is used (" +
                     std::string(which == "torch" ? "--nets torch is given" : "--isa x86-64-v2 has no multiply-add") +
                     "): omit one of the two options");
  const bool bf16 = precision == "bf16" || (precision == "auto" && has_fast_bf16(queue.isa()));
  return fused ? make_fused_nets(queue, std::move(layout), threads, bf16)
               : make_torch_nets(queue, std::move(layout), threads);
}

}  // namespace drl
