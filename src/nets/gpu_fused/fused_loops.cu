#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_forward.hpp"

namespace drl {

#define DRL_FUSED_LOOPS(Factors)                                                                          \
  DRL_LOOP(PackWeights<Factors>)                                                                          \
  static const bool DRL_UNIQUE_NAME(__COUNTER__) = ::drl::gpu::make_blocks<FusedForward<32, Factors>>() & \
                                                   ::drl::gpu::make_blocks<FusedForward<64, Factors>>() & \
                                                   ::drl::gpu::make_blocks<FusedForward<128, Factors>>();
DRL_FUSED_LOOPS(ExactFactors)
DRL_FUSED_LOOPS(Fp16Factors)
DRL_FUSED_LOOPS(Bf16Factors)
DRL_LOOP(AddPartials)

}  // namespace drl
