#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_ppo, Fp16Factors, FusedPrecision::fp16)

}  // namespace drl
