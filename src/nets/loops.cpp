// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/kernels.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(SetNumber)
DRL_SUM_COLUMNS(ObservationMoments)
DRL_LOOP(GatherInputs)
DRL_LOOP(GatherRows)
DRL_LOOP(Activate<Elu>)
DRL_LOOP(Activate<Tanh>)
DRL_LOOP(Activate<Relu>)
DRL_LOOP(ActivateBackward<Elu>)
DRL_LOOP(ActivateBackward<Tanh>)
DRL_LOOP(ActivateBackward<Relu>)

}  // namespace drl::DRL_ISA
