#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_grpo, ExactFactors, FusedPrecision::fp32)

}  // namespace drl
