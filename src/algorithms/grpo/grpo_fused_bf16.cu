#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_GRPO(Bf16Factors, FusedPrecision::bf16)

}  // namespace drl
