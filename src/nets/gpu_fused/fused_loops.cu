#include "device/gpu_loop.hpp"
#include "nets/gpu_fused/fused_forward.hpp"

namespace drl {

#define DRL_FUSED_LOOPS(Factors)        \
  DRL_LOOP(PackNetworks<Factors>)       \
  DRL_BLOCKS(FusedForward<32, Factors>) \
  DRL_BLOCKS(FusedForward<64, Factors>) \
  DRL_BLOCKS(FusedForward<128, Factors>)
DRL_FUSED_LOOPS(ExactFactors)
DRL_FUSED_LOOPS(Fp16Factors)
DRL_FUSED_LOOPS(Bf16Factors)
DRL_LOOP(AddPartials)

}  // namespace drl
