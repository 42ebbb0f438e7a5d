// For units that contain only loops over function objects. Such a unit is compiled once for each instruction set
// (drl_hot_sources), so it must not contain functions of the standard library: the linker keeps one copy of those,
// which might use instructions that the CPU lacks. A GPU unit (.cu) includes the same unit, and the macros then define
// the GPU's loops.
#pragma once

#include "device/reduce.hpp"

#if defined(__CUDACC__) || defined(DRL_GPU_HOST)
#define DRL_GPU_UNIT
#include "device/gpu_loop.hpp"
#else

#include "drl/loop.hpp"

// To be used in namespace drl::DRL_ISA. DRL_LOOP compiles for_each for a function object, DRL_HOST_LOOP the same except
// on GPUs, DRL_SUM_ROWS add_rows for a function of rows, and DRL_SUM_COLUMNS sum_columns for a Load.
#define DRL_LOOP(...) template void loop<__VA_ARGS__>(int64_t, int64_t, const __VA_ARGS__&);
#define DRL_HOST_LOOP(...) DRL_LOOP(__VA_ARGS__)
#define DRL_SUM_ROWS(...) DRL_LOOP(HostSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(HostSumRows<AllColumns<__VA_ARGS__>>)

#endif
