#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_grpo, Bf16Factors, FusedPrecision::bf16)

}  // namespace drl
