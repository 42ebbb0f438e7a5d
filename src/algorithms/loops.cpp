// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "algorithms/kernels.hpp"
#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(StandardDeviations)
DRL_LOOP(ChooseActions<Gaussian>)
DRL_LOOP(ChooseActions<Categorical>)
DRL_LOOP(Advantages)
DRL_SUM_COLUMNS(AdvantageMoments)
DRL_LOOP(CheckFinite)

}  // namespace drl::DRL_ISA
