// What must run on host and device alike.
#pragma once

#if defined(__CUDACC__)
#define DRL_HD __host__ __device__ __forceinline__
#else
// Forced, so that a DRL_CLONES function (base/simd.hpp) compiles all it calls for its own instruction set.
#define DRL_HD [[gnu::always_inline]] inline
#endif
