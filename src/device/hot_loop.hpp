// For units that hold the loops over function objects and nothing else. Such a unit is compiled once for each
// instruction set (drl_hot_sources): a function of the standard library would be too, and the linker could take it for
// all others. A GPU unit (.cu) includes it once more, and then the same lines make the GPU's loops.
#pragma once

#include "device/reduce.hpp"

#if defined(__CUDACC__) || defined(DRL_GPU_HOST)
#define DRL_GPU_UNIT
#include "device/gpu_loop.hpp"
#else

#include "drl/loop.hpp"

// In namespace drl::DRL_ISA: for_each of a function object; the same of one that GPUs do not use; add_rows of one;
// sum_columns of a Load.
#define DRL_LOOP(...) template void loop<__VA_ARGS__>(int64_t, int64_t, const __VA_ARGS__&);
#define DRL_HOST_LOOP(...) DRL_LOOP(__VA_ARGS__)
#define DRL_SUM_ROWS(...) DRL_LOOP(HostSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(HostSumRows<AllColumns<__VA_ARGS__>>)

#endif
