// The names of CUDA's libraries for gpu/runtime.hpp: cuBLAS, NCCL and NVTX.
#pragma once

#include <cublas_v2.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

// The functions of cuBLAS that drl calls.
// clang-format off
#define DRL_GPU_BLAS_FUNCTIONS(X) \
  X(cublasGetStatusString) X(cublasCreate) X(cublasDestroy) X(cublasSetStream) X(cublasSetWorkspace) \
  X(cublasSetMathMode) X(cublasSgemm) X(cublasSgemmStridedBatched)
// clang-format on

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
#define GPUBLAS_TF32_MATH CUBLAS_TF32_TENSOR_OP_MATH
#define gpublasOperation_t cublasOperation_t
#define GPUBLAS_OP_N CUBLAS_OP_N
#define GPUBLAS_OP_T CUBLAS_OP_T
#define gpublasSgemm ::drl::gpu::libraries().cublasSgemm
#define gpublasSgemmStridedBatched ::drl::gpu::libraries().cublasSgemmStridedBatched

// Named ranges for the profiler
#define gpuRangePush nvtxRangePushA
#define gpuRangePop nvtxRangePop
