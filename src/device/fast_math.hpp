// Functions of the special function unit of NVIDIA's GPUs: a few instructions each, where those of drl/math.hpp, which
// are bit-identical everywhere, take twenty to forty. Their relative error is about 1e-7; that of fast_exp grows with
// |x|, as the error of x does. "Parallel Thread Execution ISA", section "Floating-Point Instructions", has their
// errors.
#pragma once

#include "drl/math.hpp"

namespace drl {

#if defined(DRL_GPU_COMPILER) && !defined(DRL_FOR_AMD_GPUS)
// Return 2^x, log2(x) and 1 / x.
__device__ __forceinline__ float special_exp2(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float special_log2(float x) {
  float y = 0;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float special_reciprocal(float x) {
  float y = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

// Return exp(x) and log(x) by the special function unit on a GPU, and by drl/math.hpp on CPUs. A policy's probabilities
// are computed by these, both when actions are chosen and in the loss, so that the first ratio is 1.
template <class F>
DRL_HD F fast_exp(F x) {
#if defined(DRL_GPU_CODE) && !defined(DRL_FOR_AMD_GPUS)
  return special_exp2(x * 1.44269504f);
#else
  return math::exp(x);
#endif
}
template <class F>
DRL_HD F fast_log(F x) {
#if defined(DRL_GPU_CODE) && !defined(DRL_FOR_AMD_GPUS)
  return special_log2(x) * 0.693147181f;
#else
  return math::log(x);
#endif
}

}  // namespace drl
