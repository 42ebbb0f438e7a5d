// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "policy/actor_kernels.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(StandardDeviations<Gaussian>)
DRL_LOOP(StandardDeviations<SquashedGaussian>)
DRL_LOOP(ChooseActions<Gaussian>)
DRL_LOOP(ChooseActions<Categorical>)
DRL_LOOP(ChooseActions<StateGaussian>)
DRL_LOOP(ChooseActions<Beta>)
DRL_LOOP(ChooseActions<SquashedGaussian>)

}  // namespace drl::DRL_ISA
