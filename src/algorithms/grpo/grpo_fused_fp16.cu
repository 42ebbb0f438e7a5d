#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_LOSS(add_fused_grpo, Fp16Factors, FusedPrecision::fp16)

}  // namespace drl
