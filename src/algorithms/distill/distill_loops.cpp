// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/distill/distill_kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_SUM_ROWS(DistillLoss)

}  // namespace drl::DRL_ISA
