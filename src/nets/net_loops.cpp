// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/net_kernels.hpp"

namespace drl::DRL_ISA {

DRL_SUM_COLUMNS(ObservationMoments)
DRL_LOOP(GatherInputs)
DRL_LOOP(GatherRows)
DRL_LOOP(NormalizeRows)
DRL_LOOP(NormalizeRowsBackward)
DRL_LOOP(AddResidual)

#define DRL_ACTIVATION_LOOPS(name, A) \
  DRL_LOOP(Activate<A>)               \
  DRL_LOOP(ActivateBackward<A>)       \
  DRL_LOOP(ScaleAndActivate<A>)       \
  DRL_LOOP(ScaleAndActivateBackward<A>)
DRL_ACTIVATIONS(DRL_ACTIVATION_LOOPS)

}  // namespace drl::DRL_ISA
