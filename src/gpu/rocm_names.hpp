// The names of ROCm's libraries for gpu/runtime.hpp: rocBLAS and RCCL, which has NCCL's names.
#pragma once

#if defined(DRL_ROCM_DECLARATIONS)
#include "gpu/rocm_declarations.h"
#else
#include <rccl/rccl.h>
#include <rocblas/rocblas.h>
#endif

// The functions of rocBLAS that drl calls.
// clang-format off
#define DRL_GPU_BLAS_FUNCTIONS(X) \
  X(rocblas_status_to_string) X(rocblas_create_handle) X(rocblas_destroy_handle) X(rocblas_set_stream) \
  X(rocblas_set_workspace) X(rocblas_set_atomics_mode) X(rocblas_sgemm) X(rocblas_sgemm_strided_batched)
// clang-format on

// Matrix products. rocBLAS computes those of float32 in float32. What changes their sums is whether it adds slices of
// them atomically, that is, in any order.
#define gpublasHandle_t rocblas_handle
#define gpublasStatus_t rocblas_status
#define GPUBLAS_STATUS_SUCCESS rocblas_status_success
#define gpublasGetStatusString ::drl::gpu::libraries().rocblas_status_to_string
#define gpublasCreate ::drl::gpu::libraries().rocblas_create_handle
#define gpublasDestroy ::drl::gpu::libraries().rocblas_destroy_handle
#define gpublasSetStream ::drl::gpu::libraries().rocblas_set_stream
#define gpublasSetWorkspace ::drl::gpu::libraries().rocblas_set_workspace
#define gpublasSetMathMode ::drl::gpu::libraries().rocblas_set_atomics_mode
#define GPUBLAS_DEFAULT_MATH rocblas_atomics_not_allowed
#define GPUBLAS_TF32_MATH GPUBLAS_DEFAULT_MATH  // there is none
#define gpublasOperation_t rocblas_operation
#define GPUBLAS_OP_N rocblas_operation_none
#define GPUBLAS_OP_T rocblas_operation_transpose
#define gpublasSgemm ::drl::gpu::libraries().rocblas_sgemm
#define gpublasSgemmStridedBatched ::drl::gpu::libraries().rocblas_sgemm_strided_batched

// Named ranges for the profiler need a library of their own, roctx, so there are none.
inline void gpuRangePush(const char*) {}
inline void gpuRangePop() {}
