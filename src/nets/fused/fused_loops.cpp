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

#define DRL_LAYER_LOOPS(Numbers, A)       \
  DRL_HOST_LOOP(LayerForward<Numbers, A>) \
  DRL_HOST_LOOP(LayerBackward<Numbers, A>)
#define DRL_NETWORK_LOOPS(Numbers)             \
  DRL_HOST_LOOP(PackWeights<Numbers>)          \
  DRL_HOST_LOOP(WeightGradient<Numbers>)       \
  DRL_HOST_LOOP(NarrowWeightGradient<Numbers>) \
  DRL_LAYER_LOOPS(Numbers, Linear)             \
  DRL_LAYER_LOOPS(Numbers, Elu)                \
  DRL_LAYER_LOOPS(Numbers, Tanh)               \
  DRL_LAYER_LOOPS(Numbers, Relu)               \
  DRL_LAYER_LOOPS(Numbers, Silu)               \
  DRL_LAYER_LOOPS(Numbers, Gelu)
DRL_NETWORK_LOOPS(Fp32)
DRL_NETWORK_LOOPS(Bf16)

DRL_HOST_LOOP(FewBackward<Linear>)
DRL_HOST_LOOP(FewBackward<Elu>)
DRL_HOST_LOOP(FewBackward<Tanh>)
DRL_HOST_LOOP(FewBackward<Relu>)
DRL_HOST_LOOP(FewBackward<Silu>)
DRL_HOST_LOOP(FewBackward<Gelu>)

DRL_HOST_LOOP(NormForward<Elu>)
DRL_HOST_LOOP(NormForward<Tanh>)
DRL_HOST_LOOP(NormForward<Relu>)
DRL_HOST_LOOP(NormForward<Silu>)
DRL_HOST_LOOP(NormForward<Gelu>)

}  // namespace drl::DRL_ISA
