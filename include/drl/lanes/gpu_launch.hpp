// Runs a function object (drl/lanes/loop.hpp) over a range of indices as a GPU kernel of this library. Compiled by the
// GPU compiler, or with DRL_GPU_RUNTIME, a header that replaces CUDA's runtime by an emulation on the CPU.
#pragma once

#include <cstdint>

#include "drl/lanes/hd.hpp"
#if defined(DRL_GPU_RUNTIME)
#include DRL_GPU_RUNTIME
#else
#include <cuda_runtime.h>
#endif

namespace drl::gpu {

template <class Function>
DRL_HD void call(const Function& function, int64_t i) {
  if constexpr (requires { function(i); }) {
    function(i);
  } else {
    function.template lanes<float>(i);
  }
}

#if defined(DRL_GPU_RUNTIME)

using Status = gpuError_t;
inline constexpr Status kSuccess = gpuSuccess;
inline const char* name_of(Status status) { return gpuGetErrorName(status); }
inline const char* text_of(Status status) { return gpuGetErrorString(status); }

// Enqueues function over the indices [begin, end).
template <class Function>
Status launch(void* stream, int64_t begin, int64_t end, const Function& function) {
  host_enqueue(static_cast<gpuStream_t>(stream), HostWork::kernel, [begin, end, function] {
    for (int64_t i = begin; i < end; ++i) call(function, i);
  });
  return kSuccess;
}
// Loads the kernel. Loading is not allowed while a graph is captured.
template <class Function>
Status probe() {
  return kSuccess;
}

#else

inline constexpr int kBlockSize = 256;

template <class Function>
__global__ void __launch_bounds__(kBlockSize) loop_kernel(int64_t begin, int64_t end, const Function function) {
  const int64_t i = begin + static_cast<int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (i < end) call(function, i);
}

using Status = cudaError_t;
inline constexpr Status kSuccess = cudaSuccess;
inline const char* name_of(Status status) { return cudaGetErrorName(status); }
inline const char* text_of(Status status) { return cudaGetErrorString(status); }

template <class Function>
Status launch(void* stream, int64_t begin, int64_t end, const Function& function) {
  const int64_t blocks = (end - begin + kBlockSize - 1) / kBlockSize;
  if (blocks >= (int64_t{1} << 31)) return cudaErrorInvalidConfiguration;  // a grid has fewer blocks
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kBlockSize);
  config.stream = static_cast<cudaStream_t>(stream);
  return cudaLaunchKernelEx(&config, loop_kernel<Function>, begin, end, function);
}
template <class Function>
Status probe() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, loop_kernel<Function>);
}

#endif

}  // namespace drl::gpu
