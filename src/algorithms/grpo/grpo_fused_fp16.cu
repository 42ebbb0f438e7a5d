#include "algorithms/grpo/grpo_fused.hpp"

namespace drl {

DRL_FUSED_GRPO(Fp16Factors, FusedPrecision::fp16)

}  // namespace drl
