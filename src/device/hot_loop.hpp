// Macros for translation units that contain only loops over function objects. Such a unit is compiled once for each
// instruction set (drl_hot_sources), so it must not use functions of the standard library: the linker keeps one copy of
// those, which might use instructions that the CPU lacks. A GPU unit (.cu) includes the same unit, and the macros then
// define the GPU's loops.
#pragma once

#include "device/reduce.hpp"

#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
#define DRL_GPU_UNIT
#include "device/gpu_loop.hpp"
#else

#include "drl/lanes/loop.hpp"

// Use these macros in namespace drl::DRL_ISA.
//   DRL_LOOP compiles for_each for a function object.
//   DRL_HOST_LOOP does the same, but not for GPUs.
//   DRL_SUM_ROWS compiles add_rows for a function of rows.
//   DRL_SUM_COLUMNS compiles sum_columns for a Load.
#define DRL_LOOP(...) template void loop<__VA_ARGS__>(int64_t, int64_t, const __VA_ARGS__&);
#define DRL_HOST_LOOP(...) DRL_LOOP(__VA_ARGS__)
#define DRL_GPU_LOOP(...)
#define DRL_SUM_ROWS(...) DRL_LOOP(HostSumRows<__VA_ARGS__>)
#define DRL_SUM_COLUMNS(...) DRL_LOOP(HostSumRows<AllColumns<__VA_ARGS__>>)

#endif
