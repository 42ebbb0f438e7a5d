// Maps the names gpu..., gpublas... and gpuccl... that all other code uses to CUDA, cuBLAS and NCCL. HIP, hipBLAS and
// RCCL have the same calls and could be added here without changing any kernel. With DRL_GPU_HOST the names belong to
// the tests' CPU emulation, which runs the same code on the host.
#pragma once

#if defined(DRL_GPU_HOST)
#include "gpu/host_runtime.hpp"
#else

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include "gpu/libraries.hpp"

// The functions of cuBLAS and NCCL that drl calls.
// clang-format off
#define DRL_GPU_LIBRARY_FUNCTIONS(X) \
  X(cublasGetStatusString) X(cublasCreate) X(cublasDestroy) X(cublasSetStream) X(cublasSetWorkspace) \
  X(cublasSetMathMode) X(cublasSgemm) X(cublasSgemmStridedBatched) \
  X(ncclGetVersion) X(ncclGetErrorString) X(ncclGetLastError) X(ncclGetUniqueId) X(ncclCommInitRankConfig) \
  X(ncclCommGetAsyncError) X(ncclCommFinalize) X(ncclCommDestroy) X(ncclCommAbort) X(ncclAllReduce)
// clang-format on

namespace drl::gpu {

struct Libraries : LibrariesHead {
#define DRL_FUNCTION(name) decltype(&::name) name;
  DRL_GPU_LIBRARY_FUNCTIONS(DRL_FUNCTION)
#undef DRL_FUNCTION
};

// Returns the functions. The first call opens the libraries; it throws UsageError if they cannot be used.
inline const Libraries& libraries() {
  static const auto& table = static_cast<const Libraries&>(open_plugin(plugin_file(), sizeof(Libraries)));
  return table;
}

}  // namespace drl::gpu

// Opens cuBLAS and NCCL, unless they are open. Throws UsageError if they cannot be used.
inline void gpuOpenLibraries() { (void)drl::gpu::libraries(); }

// Device, memory
#define gpuError_t cudaError_t
#define gpuSuccess cudaSuccess
#define gpuErrorNotReady cudaErrorNotReady
#define gpuErrorNoDevice cudaErrorNoDevice
#define gpuGetErrorString cudaGetErrorString
#define gpuGetErrorName cudaGetErrorName
#define gpuGetLastError cudaGetLastError
#define gpuGetDeviceCount cudaGetDeviceCount
#define gpuSetDevice cudaSetDevice
#define gpuDeviceProp cudaDeviceProp
#define gpuGetDeviceProperties cudaGetDeviceProperties
#define gpuDriverGetVersion cudaDriverGetVersion
#define gpuRuntimeGetVersion cudaRuntimeGetVersion
#define gpuMemGetInfo cudaMemGetInfo
#define gpuMalloc cudaMalloc
#define gpuFree cudaFree
#define gpuMallocHost cudaMallocHost
#define gpuFreeHost cudaFreeHost
#define gpuMemcpyAsync cudaMemcpyAsync
#define gpuMemcpyDefault cudaMemcpyDefault
#define gpuMemsetAsync cudaMemsetAsync

// Streams, events, graphs
#define gpuStream_t cudaStream_t
#define gpuStreamNonBlocking cudaStreamNonBlocking
#define gpuStreamCreateWithFlags cudaStreamCreateWithFlags
#define gpuStreamDestroy cudaStreamDestroy
#define gpuStreamQuery cudaStreamQuery
#define gpuStreamBeginCapture cudaStreamBeginCapture
#define gpuStreamEndCapture cudaStreamEndCapture
#define gpuStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define gpuLaunchConfig_t cudaLaunchConfig_t
#define gpuLaunchKernelEx cudaLaunchKernelEx
#define gpuEvent_t cudaEvent_t
#define gpuEventCreate cudaEventCreate
#define gpuEventDestroy cudaEventDestroy
#define gpuEventRecord cudaEventRecord
#define gpuEventQuery cudaEventQuery
#define gpuEventElapsedTime cudaEventElapsedTime
#define gpuGraph_t cudaGraph_t
#define gpuGraphExec_t cudaGraphExec_t
#define gpuGraphInstantiateWithFlags cudaGraphInstantiateWithFlags
#define gpuGraphLaunch cudaGraphLaunch
#define gpuGraphDestroy cudaGraphDestroy
#define gpuGraphExecDestroy cudaGraphExecDestroy

// Matrix products
#define gpublasHandle_t cublasHandle_t
#define gpublasStatus_t cublasStatus_t
#define GPUBLAS_STATUS_SUCCESS CUBLAS_STATUS_SUCCESS
#define gpublasGetStatusString ::drl::gpu::libraries().cublasGetStatusString
#define gpublasCreate ::drl::gpu::libraries().cublasCreate
#define gpublasDestroy ::drl::gpu::libraries().cublasDestroy
#define gpublasSetStream ::drl::gpu::libraries().cublasSetStream
#define gpublasSetWorkspace ::drl::gpu::libraries().cublasSetWorkspace
#define gpublasSetMathMode ::drl::gpu::libraries().cublasSetMathMode
#define GPUBLAS_DEFAULT_MATH CUBLAS_DEFAULT_MATH
#define gpublasOperation_t cublasOperation_t
#define GPUBLAS_OP_N CUBLAS_OP_N
#define GPUBLAS_OP_T CUBLAS_OP_T
#define gpublasSgemm ::drl::gpu::libraries().cublasSgemm
#define gpublasSgemmStridedBatched ::drl::gpu::libraries().cublasSgemmStridedBatched

// Collectives
#define gpucclComm_t ncclComm_t
#define gpucclConfig_t ncclConfig_t
#define GPUCCL_CONFIG_INITIALIZER NCCL_CONFIG_INITIALIZER
#define gpucclUniqueId ncclUniqueId
#define gpucclResult_t ncclResult_t
#define gpucclSuccess ncclSuccess
#define gpucclRemoteError ncclRemoteError
#define gpucclInProgress ncclInProgress
#define gpucclDataType_t ncclDataType_t
#define gpucclFloat ncclFloat
#define gpucclDouble ncclDouble
#define gpucclSum ncclSum
#define gpucclGetVersion ::drl::gpu::libraries().ncclGetVersion
#define gpucclGetErrorString ::drl::gpu::libraries().ncclGetErrorString
#define gpucclGetLastError ::drl::gpu::libraries().ncclGetLastError
#define gpucclGetUniqueId ::drl::gpu::libraries().ncclGetUniqueId
#define gpucclCommInitRankConfig ::drl::gpu::libraries().ncclCommInitRankConfig
#define gpucclCommGetAsyncError ::drl::gpu::libraries().ncclCommGetAsyncError
#define gpucclCommFinalize ::drl::gpu::libraries().ncclCommFinalize
#define gpucclCommDestroy ::drl::gpu::libraries().ncclCommDestroy
#define gpucclCommAbort ::drl::gpu::libraries().ncclCommAbort
#define gpucclAllReduce ::drl::gpu::libraries().ncclAllReduce

// Named ranges for the profiler
#define gpuRangePush nvtxRangePushA
#define gpuRangePop nvtxRangePop

// For kernels: returns the GPU's clock in nanoseconds, which all multiprocessors share.
#if defined(__CUDACC__)
__host__ __device__ __forceinline__ unsigned long long gpuNanoseconds() {
  unsigned long long time = 0;
#if defined(__CUDA_ARCH__)
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
#endif
  return time;
}
#endif

#endif
