#include "nets/host_nets.hpp"

#include <utility>

#include "base/check.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

bool has_layer_norm(const ParamLayout& layout) {
  for (NetId net = 0; net < layout.nets(); ++net)
    if (layout.net(net).layer_norm) return true;
  return false;
}

}  // namespace

std::unique_ptr<Nets> make_host_nets(Queue& queue, ParamLayout layout, const std::string& which, int threads,
                                     const std::string& precision) {
  const bool can = !has_layer_norm(layout);
  if (which == "fused" && !can)
    throw UsageError("--nets fused has no layer norm (policy.layer_norm is given): leave one of them out");
  const bool fused = which == "fused" || (which == "auto" && can && has_fused_multiply_add(queue.isa()));
  if (precision == "bf16" && !fused)
    throw UsageError("--precision bf16 is for fused networks, and these are libtorch's (" +
                     std::string(which == "torch" ? "--nets torch is given"
                                 : !can           ? "they have layer norm"
                                                  : "--isa x86-64-v2 has no multiply-add") +
                     "): leave one of them out");
  return fused ? make_fused_nets(queue, std::move(layout), threads, precision == "bf16")
               : make_torch_nets(queue, std::move(layout), threads);
}

}  // namespace drl
