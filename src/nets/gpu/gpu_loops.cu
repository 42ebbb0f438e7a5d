#include "device/gpu_loop.hpp"
#include "nets/gpu/gpu_kernels.hpp"
#include "nets/net_loops.cpp"
#include "nets/recurrent_loops.cpp"

namespace drl {

#define DRL_LAYER_LOOPS(A)           \
  DRL_LOOP(AddBiasAndActivate<A, 1>) \
  DRL_LOOP(AddBiasAndActivate<A, 4>) \
  DRL_SUM_COLUMNS(LoadActivationBackward<A>)
DRL_LAYER_LOOPS(Elu)
DRL_LAYER_LOOPS(Tanh)
DRL_LAYER_LOOPS(Relu)
DRL_LAYER_LOOPS(Silu)
DRL_LAYER_LOOPS(Gelu)
DRL_LOOP(AddBias)
DRL_SUM_COLUMNS(LoadMatrix)
DRL_SUM_COLUMNS(LoadProduct)
DRL_LOOP(AddSlices)
DRL_LOOP(FinalSums<AddTo>)

}  // namespace drl
