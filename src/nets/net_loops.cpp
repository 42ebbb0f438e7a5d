// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/net_kernels.hpp"

namespace drl::DRL_ISA {

DRL_SUM_COLUMNS(ObservationMoments)
DRL_LOOP(GatherInputs)
DRL_LOOP(GatherRows)
DRL_LOOP(NormalizeRows)
DRL_LOOP(NormalizeRowsBackward)

#define DRL_ACTIVATION_LOOPS(A) \
  DRL_LOOP(Activate<A>)         \
  DRL_LOOP(ActivateBackward<A>) \
  DRL_LOOP(ScaleAndActivate<A>) \
  DRL_LOOP(ScaleAndActivateBackward<A>)
DRL_ACTIVATION_LOOPS(Elu)
DRL_ACTIVATION_LOOPS(Tanh)
DRL_ACTIVATION_LOOPS(Relu)
DRL_ACTIVATION_LOOPS(Silu)
DRL_ACTIVATION_LOOPS(Gelu)

}  // namespace drl::DRL_ISA
