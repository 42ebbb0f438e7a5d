// The GPU runtime (drl/lanes/gpu_runtime.hpp) and, under names gpublas... and gpuccl..., the libraries that drl uses
// with it: cuBLAS and NCCL. For AMD GPUs, hipBLAS and RCCL have the same calls and could be added here. With
// DRL_GPU_RUNTIME, the emulated runtime has these names too.
#pragma once

#include "drl/lanes/gpu_runtime.hpp"

#if !defined(DRL_GPU_RUNTIME)

#include <cublas_v2.h>
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

#endif
