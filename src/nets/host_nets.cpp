#include "nets/host_nets.hpp"

#include <utility>

#include "base/check.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_library.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

bool has_layer_norm(const ParamLayout& layout) {
  for (NetId net = 0; net < layout.nets(); ++net)
    if (layout.net(net).layer_norm) return true;
  return false;
}

}  // namespace

std::unique_ptr<Nets> make_host_nets(Queue& queue, ParamLayout layout, const std::string& which, int threads) {
  const bool can = !has_layer_norm(layout);
  if (which == "fused" && !can)
    throw UsageError("--nets fused has no layer norm (policy.layer_norm is given): leave one of them out");
  const bool better = threads == 1 && has_fused_multiply_add(queue.isa());
  const bool fused = which == "fused" || (which == "auto" && can && (better || !built_with_torch()));
  return fused ? make_fused_nets(queue, std::move(layout)) : make_torch_nets(queue, std::move(layout), threads);
}

}  // namespace drl
