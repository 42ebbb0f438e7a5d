#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_GRPO(ExactFactors, FusedPrecision::fp32)

}  // namespace drl
