// What must run on host and device alike.
#pragma once

#if defined(__CUDACC__)
#define DRL_HD __host__ __device__ __forceinline__
#define DRL_HD_CALLED __host__ __device__ __noinline__
#define DRL_LAMBDA
#else
// Forced: what a unit compiles for its own instruction set is nowhere a function that the linker could take for another
// unit's.
#define DRL_HD inline __attribute__((always_inline))
#define DRL_HD_CALLED inline __attribute__((noinline))  // too large for that
#define DRL_LAMBDA __attribute__((always_inline))  // between a lambda's parameters and its body
#endif
