#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_PPO(Bf16Factors, FusedPrecision::bf16)

}  // namespace drl
