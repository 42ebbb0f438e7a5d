#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_forward.hpp"

namespace drl {

template <class Factors>
bool make_forward_passes() {
  for_each_fused_shape([&]<int k>() { gpu::make_blocks<FusedForward<kFusedShapes[k], Factors>>(); });
  return true;
}
static const bool forward_passes_are_made =
    make_forward_passes<ExactFactors>() && make_forward_passes<Fp16Factors>() && make_forward_passes<Bf16Factors>();
DRL_LOOP(PackNetworks<ExactFactors>)
DRL_LOOP(PackNetworks<Fp16Factors>)
DRL_LOOP(PackNetworks<Bf16Factors>)
DRL_LOOP(AddPartials)

}  // namespace drl
