// For units that hold the loops over function objects and nothing else. Such a unit is compiled once for each
// instruction set (drl_hot_sources): a function of the standard library would be too, and the linker could take it for
// all others. A GPU unit (.cu) includes it once more, and then the same lines make the GPU's loops.
#pragma once

#include <cstdint>

#include "device/reduce.hpp"
#include "drl/lanes.hpp"

#if defined(__CUDACC__) || defined(DRL_GPU_HOST)
#define DRL_GPU_UNIT
#include "device/gpu_loop.hpp"
#else

namespace drl::DRL_ISA {

static_assert(kFloatLanes == DRL_LANES, "compiled for another instruction set than the namespace says");

template <class Function>
void loop(int64_t begin, int64_t end, const Function& given) {
  const Function function = given;  // which no store of its own can change
  int64_t i = begin;
  if constexpr (requires { function(i); }) {
    for (; i < end; ++i) function(i);
  } else {
    using Lanes = Pack<float, kFloatLanes>;
    for (; i + kFloatLanes <= end; i += kFloatLanes) function.template lanes<Lanes>(i);
    for (; i < end; ++i) function.template lanes<float>(i);
  }
}

}  // namespace drl::DRL_ISA

// In namespace drl::DRL_ISA: for_each of a function object; the same of one that GPUs do not use; add_rows of one;
// sum_columns of a Load.
#define DRL_LOOP(...) template void loop<__VA_ARGS__>(int64_t, int64_t, const __VA_ARGS__&);
#define DRL_HOST_LOOP(...) DRL_LOOP(__VA_ARGS__)
#define DRL_SUM_ROWS(...) DRL_LOOP(HostSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(HostSumRows<AllColumns<__VA_ARGS__>>)

#endif
