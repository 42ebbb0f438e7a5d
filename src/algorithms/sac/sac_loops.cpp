// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/sac/sac_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(DrawActions)
DRL_SUM_ROWS(ActorLoss)
DRL_LOOP(TemperatureGradient)

}  // namespace drl::DRL_ISA
