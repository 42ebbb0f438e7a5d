#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_ppo, ExactFactors, FusedPrecision::fp32)

}  // namespace drl
