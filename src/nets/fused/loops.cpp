// Compiled once for each instruction set (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/fused/kernels.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(PackWeights)
DRL_HOST_LOOP(GatherPadded)
DRL_HOST_LOOP(CopyRows)
DRL_HOST_LOOP(WeightGradient)
DRL_HOST_LOOP(NarrowWeightGradient)
DRL_HOST_LOOP(BiasGradient)

#define DRL_LAYER_LOOPS(A)       \
  DRL_HOST_LOOP(LayerForward<A>) \
  DRL_HOST_LOOP(LayerBackward<A>)
DRL_LAYER_LOOPS(Linear)
DRL_LAYER_LOOPS(Elu)
DRL_LAYER_LOOPS(Tanh)
DRL_LAYER_LOOPS(Relu)
DRL_LAYER_LOOPS(Silu)
DRL_LAYER_LOOPS(Gelu)

}  // namespace drl::DRL_ISA
