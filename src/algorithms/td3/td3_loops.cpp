// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/td3/td3_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(SmoothActions)
DRL_SUM_ROWS(DeterministicLoss)

}  // namespace drl::DRL_ISA
