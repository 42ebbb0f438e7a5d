#include "algorithms/fused_step.hpp"
#include "device/gpu_loop.hpp"

namespace drl {

DRL_BLOCKS(OneBlockStep<AdamStep>)
DRL_BLOCKS(OneBlockStep<SgdStep>)

}  // namespace drl
