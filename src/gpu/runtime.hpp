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

// Device, memory
#define gpuError_t cudaError_t
#define gpuSuccess cudaSuccess
#define gpuErrorNotReady cudaErrorNotReady
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
#define gpublasGetStatusString cublasGetStatusString
#define gpublasCreate cublasCreate
#define gpublasDestroy cublasDestroy
#define gpublasSetStream cublasSetStream
#define gpublasSetWorkspace cublasSetWorkspace
#define gpublasSetMathMode cublasSetMathMode
#define GPUBLAS_DEFAULT_MATH CUBLAS_DEFAULT_MATH
#define gpublasOperation_t cublasOperation_t
#define GPUBLAS_OP_N CUBLAS_OP_N
#define GPUBLAS_OP_T CUBLAS_OP_T
#define gpublasSgemm cublasSgemm
#define gpublasSgemmStridedBatched cublasSgemmStridedBatched

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
#define gpucclGetVersion ncclGetVersion
#define gpucclGetErrorString ncclGetErrorString
#define gpucclGetLastError ncclGetLastError
#define gpucclGetUniqueId ncclGetUniqueId
#define gpucclCommInitRankConfig ncclCommInitRankConfig
#define gpucclCommGetAsyncError ncclCommGetAsyncError
#define gpucclCommFinalize ncclCommFinalize
#define gpucclCommDestroy ncclCommDestroy
#define gpucclCommAbort ncclCommAbort
#define gpucclAllReduce ncclAllReduce

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
