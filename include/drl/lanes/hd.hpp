// Macros for functions that run on both host and device.
#pragma once

// DRL_GPU_COMPILER is defined if a compiler for GPUs compiles this unit, and DRL_GPU_CODE while it compiles for the
// GPU.
#if defined(__CUDACC__) || defined(__HIP__)
#define DRL_GPU_COMPILER
#endif
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define DRL_GPU_CODE
#endif

#if defined(DRL_GPU_COMPILER)
#if defined(__HIP__)
#define DRL_HD __host__ __device__ inline __attribute__((always_inline))
#define DRL_HD_CALLED inline __host__ __device__ __attribute__((noinline))
#else
#define DRL_HD __host__ __device__ __forceinline__
#define DRL_HD_CALLED inline __host__ __device__ __noinline__
#endif
#define DRL_LAMBDA
#define DRL_HD_CALLED_ON_GPU DRL_HD_CALLED  // for functions that are large and called in several places
#else
// Inlining is forced: code that a unit compiles for its own instruction set must not become a function that the linker
// could use for another unit.
#define DRL_HD inline __attribute__((always_inline))
#define DRL_HD_CALLED inline __attribute__((noinline))  // for functions that are too large to inline
#define DRL_LAMBDA __attribute__((always_inline))       // goes between a lambda's parameters and its body
#define DRL_HD_CALLED_ON_GPU DRL_HD
#endif

// DRL_ON_GPU is 1 in units that are compiled for GPUs or for their emulation on the CPU.
#if defined(DRL_GPU_COMPILER) || defined(DRL_GPU_RUNTIME)
#define DRL_ON_GPU 1
#else
#define DRL_ON_GPU 0
#endif

// Tells nvcc, which could not know, that a pointer leads to a GPU's global memory: this saves instructions.
#if defined(__CUDA_ARCH__)
#define DRL_IN_GLOBAL_MEMORY(pointer) __builtin_assume(__isGlobal(pointer))
#else
#define DRL_IN_GLOBAL_MEMORY(pointer)
#endif

// Robots' largest functions consist of parts on GPUs: this is C++ that only such functions contain.
#if DRL_ON_GPU
#define DRL_IN_PARTS(...) __VA_ARGS__
#else
#define DRL_IN_PARTS(...)
#endif

// DRL_VECTOR goes before a loop of a few iterations that GCC would unroll before it can vectorise it.
#if defined(__GNUC__) && !defined(__clang__) && !defined(DRL_GPU_COMPILER)
#define DRL_VECTOR _Pragma("GCC unroll 1")
#else
#define DRL_VECTOR
#endif

// DRL_ROLLED goes before a loop that GPUs' compilers must not unroll, because it handles many numbers that are in
// memory anyway, and code that does not fit into the cache of instructions is slow. DRL_ROLLED_IF_LONG does so if the
// loop has more than 48 iterations, and otherwise unrolls it, so that its array stays in registers.
#if defined(DRL_GPU_CODE)
#define DRL_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define DRL_ROLLED DRL_PRAGMA(unroll 1)
#define DRL_ROLLED_IF_LONG(n) DRL_PRAGMA(unroll 0 + ((n) > 48 || (n) < 1 ? 1 : (n)))
#else
#define DRL_ROLLED
#define DRL_ROLLED_IF_LONG(n)
#endif
