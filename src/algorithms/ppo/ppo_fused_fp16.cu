#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_PPO(Fp16Factors, FusedPrecision::fp16)

}  // namespace drl
