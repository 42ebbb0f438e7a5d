// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "policy/actor_kernels.hpp"

namespace drl::DRL_ISA {

DRL_DISTRIBUTIONS(DRL_LOOP, StandardDeviations)
DRL_DISTRIBUTIONS(DRL_LOOP, ChooseActions)

}  // namespace drl::DRL_ISA
