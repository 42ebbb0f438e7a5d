#include "algorithms/ppo/ppo_fused.hpp"

namespace drl {

DRL_FUSED_PPO(ExactFactors, FusedPrecision::fp32)

}  // namespace drl
