#include "device/gpu_loop.hpp"
#include "nets/gpu/gpu_kernels.hpp"
#include "nets/net_loops.cpp"
#include "nets/recurrent_loops.cpp"

namespace drl {

#define DRL_LAYER_LOOPS(name, A)     \
  DRL_LOOP(AddBiasAndActivate<A, 1>) \
  DRL_LOOP(AddBiasAndActivate<A, 4>) \
  DRL_SUM_COLUMNS(LoadActivationBackward<A>)
DRL_ACTIVATIONS(DRL_LAYER_LOOPS)
DRL_LOOP(AddBias)
DRL_SUM_COLUMNS(LoadMatrix)
DRL_SUM_COLUMNS(LoadProduct)
DRL_LOOP(AddSlices)
DRL_LOOP(FinalSums<AddTo>)

}  // namespace drl
