// Compiled once for each instruction set (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/fused/fused_kernels.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(MakePairs)
DRL_HOST_LOOP(AddColumns)
DRL_HOST_LOOP(AddColumnsOfProducts)
DRL_HOST_LOOP(AddColumnsOfScaled)
DRL_HOST_LOOP(NormBackward)
DRL_HOST_LOOP(FewOutputs)

#define DRL_NETWORK_LOOPS(Numbers)       \
  DRL_HOST_LOOP(PackWeights<Numbers>)    \
  DRL_HOST_LOOP(WeightGradient<Numbers>) \
  DRL_HOST_LOOP(NarrowWeightGradient<Numbers>)
DRL_NETWORK_LOOPS(Fp32)
DRL_NETWORK_LOOPS(Bf16)

#define DRL_LAYER_LOOPS(name, A)        \
  DRL_HOST_LOOP(LayerForward<Fp32, A>)  \
  DRL_HOST_LOOP(LayerForward<Bf16, A>)  \
  DRL_HOST_LOOP(LayerBackward<Fp32, A>) \
  DRL_HOST_LOOP(LayerBackward<Bf16, A>) \
  DRL_HOST_LOOP(FewBackward<A>)         \
  DRL_HOST_LOOP(NormForward<A>)
DRL_ACTIVATIONS(DRL_LAYER_LOOPS)

}  // namespace drl::DRL_ISA
