// The GPU runtime (drl/lanes/gpu_runtime.hpp) and, under names gpublas... and gpuccl..., the libraries that drl uses
// with it: cuBLAS and NCCL, or rocBLAS and RCCL for AMD GPUs. With DRL_GPU_RUNTIME, the emulated runtime has these
// names too.
#pragma once

#include "drl/lanes/gpu_runtime.hpp"

#if !defined(DRL_GPU_RUNTIME)

#include "gpu/libraries.hpp"
#if defined(DRL_FOR_AMD_GPUS)
#include "gpu/rocm_names.hpp"
#else
#include "gpu/cuda_names.hpp"
#endif

// The functions of the libraries that drl calls.
// clang-format off
#define DRL_GPU_LIBRARY_FUNCTIONS(X) \
  DRL_GPU_BLAS_FUNCTIONS(X) \
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

// Opens the libraries, unless they are open. Throws UsageError if they cannot be used.
inline void gpuOpenLibraries() { (void)drl::gpu::libraries(); }

// Collectives, by the names that NCCL and RCCL share
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

#endif
