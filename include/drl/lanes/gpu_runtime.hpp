// The names gpu... that all other code uses for the GPU runtime. They are CUDA's, or HIP's for AMD GPUs, or those of
// DRL_GPU_RUNTIME, a header that emulates the runtime on the CPU for tests. No other header contains names of CUDA's or
// HIP's runtime; src/gpu/runtime.hpp adds the libraries.
#pragma once

#if defined(DRL_GPU_RUNTIME)
#include DRL_GPU_RUNTIME
#else

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drl/lanes/hd.hpp"

// HIP has the same functions as CUDA with another prefix, except for those in the first list.
#if defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>  // has no names for kernels, which the host's compiler would not understand
#endif
#define DRL_GPU_NAME(name) hip##name
#define gpuDeviceProp hipDeviceProp_t
#define gpuMallocHost hipHostMalloc
#define gpuFreeHost hipHostFree
#define gpuMultiprocessorCount hipDeviceAttributeMultiprocessorCount
#define gpuThreadsPerMultiprocessor hipDeviceAttributeMaxThreadsPerMultiProcessor
#define gpuUUID hipUUID
#define gpuDeviceGetUuid hipDeviceGetUuid
#define gpuSharedMemoryPerBlock hipDeviceAttributeMaxSharedMemoryPerBlock
#define gpuSharedMemoryOfKernel hipFuncAttributeMaxDynamicSharedMemorySize
#else
#include <cuda_runtime.h>
#define DRL_GPU_NAME(name) cuda##name
#define gpuDeviceProp cudaDeviceProp
#define gpuMallocHost cudaMallocHost
#define gpuFreeHost cudaFreeHost
#define gpuMultiprocessorCount cudaDevAttrMultiProcessorCount
#define gpuThreadsPerMultiprocessor cudaDevAttrMaxThreadsPerMultiProcessor
#define gpuUUID cudaUUID_t
inline cudaError_t gpuDeviceGetUuid(gpuUUID* uuid, int device) {
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  *uuid = properties.uuid;
  return status;
}
#define gpuSharedMemoryPerBlock cudaDevAttrMaxSharedMemoryPerBlockOptin
#define gpuSharedMemoryOfKernel cudaFuncAttributeMaxDynamicSharedMemorySize
#endif

// Device, memory
#define gpuError_t DRL_GPU_NAME(Error_t)
#define gpuSuccess DRL_GPU_NAME(Success)
#define gpuErrorNotReady DRL_GPU_NAME(ErrorNotReady)
#define gpuErrorNoDevice DRL_GPU_NAME(ErrorNoDevice)
#define gpuErrorInvalidValue DRL_GPU_NAME(ErrorInvalidValue)
#define gpuErrorInvalidConfiguration DRL_GPU_NAME(ErrorInvalidConfiguration)
#define gpuErrorLaunchOutOfResources DRL_GPU_NAME(ErrorLaunchOutOfResources)
#define gpuGetErrorString DRL_GPU_NAME(GetErrorString)
#define gpuGetErrorName DRL_GPU_NAME(GetErrorName)
#define gpuGetLastError DRL_GPU_NAME(GetLastError)
#define gpuGetDeviceCount DRL_GPU_NAME(GetDeviceCount)
#define gpuGetDevice DRL_GPU_NAME(GetDevice)
#define gpuSetDevice DRL_GPU_NAME(SetDevice)
#define gpuGetDeviceProperties DRL_GPU_NAME(GetDeviceProperties)
#define gpuDeviceGetAttribute DRL_GPU_NAME(DeviceGetAttribute)
#define gpuDriverGetVersion DRL_GPU_NAME(DriverGetVersion)
#define gpuRuntimeGetVersion DRL_GPU_NAME(RuntimeGetVersion)
#define gpuMemGetInfo DRL_GPU_NAME(MemGetInfo)
#define gpuMalloc DRL_GPU_NAME(Malloc)
#define gpuFree DRL_GPU_NAME(Free)
#define gpuMemcpyAsync DRL_GPU_NAME(MemcpyAsync)
#define gpuMemcpyDefault DRL_GPU_NAME(MemcpyDefault)
#define gpuMemsetAsync DRL_GPU_NAME(MemsetAsync)

// Streams, events, graphs
#define gpuStream_t DRL_GPU_NAME(Stream_t)
#define gpuStreamNonBlocking DRL_GPU_NAME(StreamNonBlocking)
#define gpuStreamCreateWithFlags DRL_GPU_NAME(StreamCreateWithFlags)
#define gpuStreamDestroy DRL_GPU_NAME(StreamDestroy)
#define gpuStreamQuery DRL_GPU_NAME(StreamQuery)
#define gpuStreamBeginCapture DRL_GPU_NAME(StreamBeginCapture)
#define gpuStreamEndCapture DRL_GPU_NAME(StreamEndCapture)
#define gpuStreamCaptureModeThreadLocal DRL_GPU_NAME(StreamCaptureModeThreadLocal)
#define gpuEvent_t DRL_GPU_NAME(Event_t)
#define gpuEventCreate DRL_GPU_NAME(EventCreate)
#define gpuEventDestroy DRL_GPU_NAME(EventDestroy)
#define gpuEventRecord DRL_GPU_NAME(EventRecord)
#define gpuEventQuery DRL_GPU_NAME(EventQuery)
#define gpuEventElapsedTime DRL_GPU_NAME(EventElapsedTime)
#define gpuGraph_t DRL_GPU_NAME(Graph_t)
#define gpuGraphExec_t DRL_GPU_NAME(GraphExec_t)
#define gpuGraphInstantiateWithFlags DRL_GPU_NAME(GraphInstantiateWithFlags)
#define gpuGraphLaunch DRL_GPU_NAME(GraphLaunch)
#define gpuGraphDestroy DRL_GPU_NAME(GraphDestroy)
#define gpuGraphExecDestroy DRL_GPU_NAME(GraphExecDestroy)

// Kernels. gpuFuncGetAttributes loads the kernel, which is not allowed during a capture.
#define gpuFuncAttributes DRL_GPU_NAME(FuncAttributes)
#define gpuFuncGetAttributes DRL_GPU_NAME(FuncGetAttributes)

#if defined(DRL_GPU_COMPILER)

// Lets blocks of the kernel have up to `bytes` of shared memory. Without this, they may have 48 KB. Graphs that were
// recorded keep their launches, so a kernel's limit must never be lowered.
template <class... Parameters>
gpuError_t gpuAllowSharedMemory(void (*kernel)(Parameters...), size_t bytes) {
  return DRL_GPU_NAME(FuncSetAttribute)(reinterpret_cast<const void*>(kernel), gpuSharedMemoryOfKernel,
                                        static_cast<int>(bytes));
}
// Enqueues a kernel in `blocks` blocks of `threads` threads, each with `shared` bytes of shared memory.
template <class... Parameters>
gpuError_t gpuLaunchBlocks(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                           gpuStream_t stream, std::type_identity_t<Parameters>... arguments) {
  if (blocks > INT32_MAX) return gpuErrorInvalidConfiguration;
  void* pointers[] = {&arguments...};
  return DRL_GPU_NAME(LaunchKernel)(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                                    dim3(static_cast<unsigned>(threads)), pointers, shared, stream);
}

// Enqueues a kernel in `blocks` blocks of `threads` threads.
template <class... Parameters>
gpuError_t gpuLaunch(void (*kernel)(Parameters...), int64_t blocks, int threads, gpuStream_t stream,
                     std::type_identity_t<Parameters>... arguments) {
  return gpuLaunchBlocks(kernel, blocks, threads, 0, stream, arguments...);
}

// For kernels: returns the GPU's clock in nanoseconds, which all multiprocessors share.
DRL_HD uint64_t gpuNanoseconds() {
#if defined(__HIP_DEVICE_COMPILE__)
  return static_cast<uint64_t>(wall_clock64()) * 10;  // it counts at 100 MHz
#elif defined(__CUDA_ARCH__)
  uint64_t time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
#else
  return 0;
#endif
}

#endif  // DRL_GPU_COMPILER

#endif  // DRL_GPU_RUNTIME
