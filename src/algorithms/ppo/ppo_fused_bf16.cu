#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_ppo, Bf16Factors, FusedPrecision::bf16)

}  // namespace drl
